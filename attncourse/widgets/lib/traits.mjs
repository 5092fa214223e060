// A widget's traits: what Python and the page both see.

export function setTraits(model, traits) {
  for (const [name, value] of Object.entries(traits)) model.set(name, value);
  model.save_changes();
}

/**
 * Calls `draw` whenever one of the traits changes.
 * @param {string[]} names
 * @param {() => void} draw
 * @returns {() => void} ends it: what a widget's render returns
 */
export function follow(model, names, draw) {
  for (const name of names) model.on(`change:${name}`, draw);
  return () => {
    for (const name of names) model.off(`change:${name}`, draw);
  };
}

/** One function that calls all of these: what render returns when several things have to end. */
export function together(ends) {
  return () => {
    for (const end of ends) end();
  };
}
