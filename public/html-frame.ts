/** A person's or the agent's HTML as a document for a sandboxed frame: its styles hold, nothing runs, nothing is fetched. */

const plainOf = (text: string): string =>
  text
    .replace(/&quot;/g, '"')
    .replace(/&#0*39;|&apos;/g, "'")
    .replace(/&amp;/g, '&')

const STYLED =
  /(<[a-z][^\s/>]*(?:\s(?:"[^"]*"|'[^']*'|[^>"'])*?)?)\sstyle\s*=\s*("[^"]*"|'[^']*')/gi

/**
 * The frame inherits the page's policy, which admits styles with a nonce only. So the document's own style elements
 * get the nonce, and style attributes become rules that win as attributes would. Its own, stricter policy comes first.
 */
export const frameDocument = (html: string, nonce: string): string => {
  const rules: string[] = []
  const clean = html
    .replace(/<script\b[\s\S]*?(?:<\/script\s*>|$)/gi, '')
    .replace(/<link\b[^>]*>/gi, '')
    .replace(/<base\b[^>]*>/gi, '')
    .replace(/<meta\b[^>]*http-equiv[^>]*>/gi, '')
    .replace(/<style\b[^>]*>/gi, `<style nonce="${nonce}">`)
    .replace(STYLED, (_, before: string, value: string) => {
      const name = `data-s${rules.length}`
      const css = plainOf(value.slice(1, -1)).replace(/[<{}]/g, '')
      rules.push(`${`[${name}]`.repeat(4)}{${css}}`)
      return `${before} ${name}`
    })
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; font-src data:`
  const head =
    `<meta http-equiv="Content-Security-Policy" content="${policy}">` +
    `<style nonce="${nonce}">${rules.join('\n')}</style>`
  const doctype =
    /^\s*(?:<!--[\s\S]*?-->\s*)*<!doctype[^>]*>/i.exec(clean)?.[0] ?? '<!doctype html>'
  const rest = clean.startsWith(doctype) ? clean.slice(doctype.length) : clean
  return `${doctype}${head}${rest}`
}
