// Loaded between require.js and embed-amd.js: where the widget manager finds its modules without a network.
(() => {
  const here = new URL(".", document.currentScript.src).href;
  // all but anywidget are inside embed-amd.js, which only derives the address of its icon fonts from their paths
  const inside = ["base", "controls", "output", "html-manager", "html-manager/dist/libembed-amd"];
  window.requirejs.config({
    paths: {
      anywidget: `${here}anywidget`,
      ...Object.fromEntries(inside.map((name) => [`@jupyter-widgets/${name}`, `${here}embed-amd`])),
    },
  });
  // anywidget gives up on a widget that has not started within two seconds: too few for a slow or busy machine
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (milliseconds) => timeout(Math.max(milliseconds, 60_000));
  // ipywidgets typesets its labels with a call of MathJax 2: hand them to MathJax 3, which is there at `load`
  window.addEventListener("load", () => {
    window.MathJax.Hub = {
      Queue: ([, , element]) => MathJax.startup.promise.then(() => MathJax.typesetPromise([element])),
    };
  });
})();
