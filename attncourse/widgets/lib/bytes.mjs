// Bytes as text, and the files that hold a model's weights.

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

export function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/**
 * A safetensors file: 8 bytes with the header's length, a JSON header, raw little-endian numbers.
 * @param {Uint8Array} bytes
 * @returns {Record<string, import("./tensor.mjs").Tensor>}
 */
export function readSafetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  delete header.__metadata__;
  const number = { F16: (at) => half(view.getUint16(at, true)), F32: (at) => view.getFloat32(at, true) };
  const read = ([name, { dtype, shape, data_offsets }]) => {
    const size = { F16: 2, F32: 4 }[dtype];
    if (!size) throw new Error(`${name} is ${dtype}; the page reads F16 and F32`);
    const data = new Float32Array((data_offsets[1] - data_offsets[0]) / size);
    for (let i = 0; i < data.length; i++) data[i] = number[dtype](start + data_offsets[0] + i * size);
    return [name, { shape, data }];
  };
  return Object.fromEntries(Object.entries(header).map(read));
}
