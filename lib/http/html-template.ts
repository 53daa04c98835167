/** HTML templates: placeholders filled with escaped text, and CSP hashes of inline scripts and styles. */
import { hash } from 'node:crypto'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, character => ENTITIES[character]!)

/** Replaces `{{name}}`; unknown names become empty. One pass, so that values cannot contain placeholders. */
export const fillTemplate = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{\{(\w+)\}\}/g, (_, name: string) =>
    Object.hasOwn(values, name) ? escapeHtml(values[name] ?? '') : '',
  )

/** CSP hash sources of the exact content of every `<tag>` element. */
export const inlineHashes = (document: string, tag: 'style' | 'script'): string[] =>
  [...document.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'g'))].map(
    ([, text = '']) => `'sha256-${hash('sha256', text, 'base64')}'`,
  )

/**
 * CSP of a document that loads fonts and, with a nonce, its script. The hashes are those of the template: it has no
 * placeholders inside these elements, and values cannot add elements.
 */
export const documentPolicy = (
  template: string,
  { images, forms, nonce }: { images: string; forms: "'self'" | "'none'"; nonce?: string },
): string =>
  [
    "default-src 'none'",
    `style-src ${inlineHashes(template, 'style').join(' ')}`,
    `script-src ${nonce ? `'nonce-${nonce}'` : inlineHashes(template, 'script').join(' ')}`,
    `img-src ${images}`,
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    `form-action ${forms}`,
    "frame-ancestors 'none'",
  ].join('; ')
