/**
 * The document in which the page shows HTML with its scripts. A frame made by `srcdoc`, `blob:` or `data:` inherits the page's
 * Content-Security-Policy, which allows no inline script; only a response can have a policy of its own. This response is the same
 * for everyone: the HTML comes from the page by `postMessage`, so no URL of ours serves a person's file as a document that runs.
 */

/** Scripts, with an opaque origin and without a network: no cookies, storage, requests, forms, popups, downloads, or dialogs. */
export const ARTIFACT_POLICY = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'unsafe-inline' 'unsafe-eval'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'media-src data:',
  'font-src data:',
  "connect-src 'none'",
  "frame-src 'none'",
  "worker-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types default',
  // Browsers that know this directive ignore X-Frame-Options, which stays DENY.
  "frame-ancestors 'self'",
].join('; ')

/**
 * No policy that browsers know covers WebRTC and the connections that `<link rel=preconnect>` opens early. So no link element can be
 * made, and the constructors of WebRTC are removed with what could make a fresh global object that has
 * them again: frames by `srcdoc`, documents by `javascript:` and `blob:` URLs. Trusted Types guard the ways in which a script
 * makes markup; without them nothing is shown. The guards compare characters themselves, because the document may replace
 * methods of strings. `document.write`, XML entities and XSLT could assemble an attribute name from pieces.
 */
const GUARD = `
const has = (text, name) => {
  for (let from = 0; from + name.length <= text.length; from += 1) {
    let at = 0
    while (at < name.length && (text[from + at] === name[at][0] || text[from + at] === name[at][1])) at += 1
    if (at === name.length) return true
  }
  return false
}
const pairs = word => { const list = []; for (const one of word) list.push(one + one.toUpperCase()); return list }
const SRCDOC = pairs('srcdoc'), ENTITY = pairs('<!entity'), LINK = pairs('<link'), PREFIXED = pairs(':link')
const policy = trustedTypes.createPolicy('default', {
  createHTML: (text, type, sink) =>
    sink === 'HTMLIFrameElement srcdoc' || has(text, SRCDOC) || has(text, ENTITY) || has(text, LINK) ||
    (sink && has(text, PREFIXED)) ? null : text,
  createScript: (text, type, sink) => (sink === 'Location href' ? null : text),
  createScriptURL: () => null,
})
for (const name of Object.getOwnPropertyNames(window)) if (/^(webkit|moz)?RTC|^XSLT|^trustedTypes$/.test(name)) delete window[name]
for (let object = window; object; object = Object.getPrototypeOf(object)) delete object.trustedTypes
delete URL.createObjectURL
const { apply } = Reflect
const nameOf = Object.getOwnPropertyDescriptor(Element.prototype, 'localName').get
for (const name of ['createElement', 'createElementNS']) {
  const make = Document.prototype[name]
  Document.prototype[name] = function () {
    const made = apply(make, this, arguments)
    if (apply(nameOf, made, []) === 'link') throw new TypeError('Linked files cannot be loaded here.')
    return made
  }
}
// Custom elements could extend it, and a sanitizer of the document's own would let it pass.
delete window.HTMLLinkElement
for (const place of [Element.prototype, ShadowRoot.prototype, Document])
  for (const name of ['setHTML', 'parseHTML', 'streamHTML']) delete place[name]
const { write } = Document.prototype
delete Document.prototype.write
delete Document.prototype.writeln
`

/** Takes one document from the page that frames it. `document.write` keeps the policy of this response. */
export const ARTIFACT_FRAME = `<!doctype html>
<meta charset="utf-8">
<title>Preview</title>
<script>{${GUARD}
const show = event => {
  if (event.source !== parent || typeof event.data !== 'string') return
  removeEventListener('message', show)
  const html = policy.createHTML(event.data)
  document.open()
  write.call(document, html)
  document.close()
}
addEventListener('message', show)
}</script>
`
