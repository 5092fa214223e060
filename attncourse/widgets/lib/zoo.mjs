// A zoo model's weights: from a script beside the page in the built book, from the kernel in a notebook.

import { pushButton } from "./button.mjs";
import { fromBase64, readSafetensors } from "./bytes.mjs";
import { html } from "./dom.mjs";

// A script, because fetch() is refused on file://
function zooFromPage(name, contentRoot) {
  const url = new URL(`_static/zoo/${name}.js`, new URL(contentRoot, document.baseURI)).href;
  return new Promise((resolve, reject) => {
    const done = () => {
      const text = globalThis.attncourseZoo?.[name];
      if (text) resolve(fromBase64(text));
      else reject(new Error(`the file _static/zoo/${name}.js beside this page could not be read`));
    };
    if (globalThis.attncourseZoo?.[name]) return done();
    const script = document.createElement("script");
    Object.assign(script, { src: url, onload: done, onerror: done });
    document.head.append(script);
  });
}

function zooFromKernel(model, name) {
  return new Promise((resolve, reject) => {
    const answer = (message, buffers) => {
      if (message.zoo !== name) return;
      model.off("msg:custom", answer);
      const data = (buffers || [])[0];
      if (data) resolve(new Uint8Array(data.buffer || data, data.byteOffset || 0, data.byteLength));
      else reject(new Error(message.error));
    };
    model.on("msg:custom", answer);
    model.send({ zoo: name });
  });
}

// In the book <html> names the way to the book's root; under a kernel it does not
function loadZoo(model, seconds = 20) {
  const name = model.get("zoo");
  const root = document.documentElement.dataset.content_root;
  const [bytes, why] =
    root === undefined
      ? [zooFromKernel(model, name), "no kernel answered; run this notebook's cells first"]
      : [zooFromPage(name, root), "the page's server did not answer"];
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error(why)), 1000 * seconds));
  return Promise.race([bytes, late]).then(readSafetensors);
}

/**
 * The zoo model that the trait `zoo` names, asked for on first use: `net` (name -> tensor) is null until it is there.
 * `wait()` asks for it, if nobody has, and gives what to say meanwhile.
 * @param {HTMLElement} root of the explorable; its data-state says how far the loading is
 * @param {() => void} draw called when the model is there, and when it could not be loaded
 */
export function zooModel(model, root, draw) {
  const zoo = { net: null, failed: "" };
  const load = () => {
    if (root.dataset.state) return;
    root.dataset.state = "loading";
    loadZoo(model)
      .then(
        (tensors) => {
          zoo.net = tensors;
          root.dataset.state = "ready";
        },
        (error) => {
          zoo.failed = error.message;
          root.dataset.state = "failed";
        },
      )
      .then(draw);
  };
  const retry = () => {
    root.dataset.state = zoo.failed = "";
    draw();
  };
  zoo.wait = () => {
    load();
    if (!zoo.failed) return "Loading the model …";
    return html("span", {}, `The model's weights could not be loaded: ${zoo.failed}. `, pushButton("Try again", retry));
  };
  for (const event of ["focusin", "pointerdown"]) root.addEventListener(event, load);
  return zoo;
}
