// Creates elements. Strings become text nodes, so user text cannot become markup.
/** @import { Child } from './types.d.ts' */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element with attributes, listeners (`onclick` and the like as functions) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, unknown>} [attributes] null, undefined and false leave one out, true sets it empty
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/**
 * The same for SVG elements.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Record<string, unknown>} attributes
 * @param {readonly Child[]} children
 * @returns {E}
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...nodesOf(children));
  return element;
}

/**
 * @param {Child} child
 * @returns {(Node | string)[]}
 */
export function nodesOf(child) {
  if (child === null || child === undefined || child === false) return [];
  if (child instanceof Node) return [child];
  if (typeof child === 'object') return child.flatMap(nodesOf);
  return [String(child)];
}

/** The parts of a card or a dialog, of which each text is a paragraph. @param {Child} child */
export const paragraphs = (child) =>
  nodesOf(child).map((part) => (typeof part === 'string' ? h('p', {}, part) : part));

let ids = 0;

/** A unique element ID. */
export function newId() {
  ids += 1;
  return `e${ids}`;
}

/** One of the page's own fixed elements. @param {string} id */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no ${id}`);
  return element;
}
