/** Documents from templates: marked places filled with escaped text, inline parts admitted by their hash. */
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

/** Fills `{{name}}`; a place nobody knows stays empty. In one pass, so a value cannot bring places of its own. */
export const fillTemplate = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{\{(\w+)\}\}/g, (_, name: string) =>
    Object.hasOwn(values, name) ? escapeHtml(values[name] ?? '') : '',
  )

/** CSP sources for what stands between `<tag>` and `</tag>`, letter by letter as it will be sent. */
export const inlineHashes = (document: string, tag: 'style' | 'script'): string[] =>
  [...document.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'g'))].map(
    ([, text = '']) => `'sha256-${hash('sha256', text, 'base64')}'`,
  )
