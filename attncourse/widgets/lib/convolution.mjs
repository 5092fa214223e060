// Convolutions, as torch.nn.functional has them, and their way back.

/**
 * @typedef {import("./tensor.mjs").Tensor} Tensor
 * @typedef {{ stride?: number[], padding?: number[], dilation?: number[] }} Steps each [vertical, horizontal]
 */

/**
 * @param {Tensor} x (C, H, W)
 * @param {Tensor} weight (O, C, kH, kW)
 * @param {Tensor} [bias] (O,)
 * @param {Steps} [steps]
 * @returns {Tensor} (O, H', W')
 */
export function conv2d(x, weight, bias, { stride = [1, 1], padding = [0, 0], dilation = [1, 1] } = {}) {
  const [C, H, W] = x.shape;
  const [O, , kH, kW] = weight.shape;
  const size = (n, k, d) => Math.floor((n + 2 * padding[d] - dilation[d] * (k - 1) - 1) / stride[d]) + 1;
  const [outH, outW] = [size(H, kH, 0), size(W, kW, 1)];
  const data = new Float32Array(O * outH * outW);
  for (let o = 0, n = 0; o < O; o++)
    for (let i = 0; i < outH; i++)
      for (let j = 0; j < outW; j++, n++) {
        let sum = bias ? bias.data[o] : 0;
        for (let c = 0; c < C; c++)
          for (let k = 0; k < kH; k++) {
            const r = i * stride[0] - padding[0] + k * dilation[0];
            if (r < 0 || r >= H) continue;
            const from = (c * H + r) * W;
            const at = ((o * C + c) * kH + k) * kW;
            for (let l = 0, s = j * stride[1] - padding[1]; l < kW; l++, s += dilation[1])
              if (s >= 0 && s < W) sum += x.data[from + s] * weight.data[at + l];
          }
        data[n] = sum;
      }
  return { shape: [O, outH, outW], data };
}

/**
 * The gradient with respect to the input of conv2d.
 * @param {Tensor} gradient (O, H', W'), that of its output
 * @param {Tensor} weight
 * @param {number[]} shape the input's
 * @param {Steps} [steps]
 * @returns {Tensor}
 */
export function conv2dBackward(gradient, weight, shape, { stride = [1, 1], padding = [0, 0] } = {}) {
  const [C, H, W] = shape;
  const [, , kH, kW] = weight.shape;
  const [, outH, outW] = gradient.shape;
  const data = new Float32Array(C * H * W);
  for (let n = 0; n < gradient.data.length; n++) {
    const g = gradient.data[n];
    if (!g) continue; // behind a ReLU most are zero
    const o = Math.floor(n / (outH * outW));
    const top = (Math.floor(n / outW) % outH) * stride[0] - padding[0];
    const left = (n % outW) * stride[1] - padding[1];
    for (let c = 0; c < C; c++)
      for (let k = Math.max(0, -top); k < kH && top + k < H; k++)
        for (let l = Math.max(0, -left); l < kW && left + l < W; l++)
          data[(c * H + top + k) * W + left + l] += g * weight.data[((o * C + c) * kH + k) * kW + l];
  }
  return { shape, data };
}

/**
 * A picture one pixel high.
 * @param {Tensor} x (C, L)
 * @param {Tensor} weight (O, C, k)
 * @param {Tensor} [bias] (O,)
 * @returns {Tensor} (O, L')
 */
export function conv1d(x, weight, bias, { stride = 1, padding = 0, dilation = 1 } = {}) {
  const flat = ({ shape, data }) => ({ shape: [...shape.slice(0, -1), 1, shape[shape.length - 1]], data });
  const options = { stride: [1, stride], padding: [0, padding], dilation: [1, dilation] };
  const { shape, data } = conv2d(flat(x), flat(weight), bias, options);
  return { shape: [shape[0], shape[2]], data };
}
