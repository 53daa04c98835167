/** Puts right what small models get wrong in JSON, character by character; never adds what is not there, so that cut text stays cut. */

const CONTROL: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const WORDS: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }

/** Null where a string is not closed. The result need not be JSON. */
export const repairJson = (text: string): string | null => {
  let mended = ''
  let at = 0
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '"' || char === "'") {
      const string = readString(text, at, char)
      if (string === null) return null
      mended += string.json
      at = string.end
    } else if (char === ',' && /^,\s*[}\]]/.test(text.slice(at, at + 200))) {
      at += 1
    } else {
      const [word = ''] = /^[A-Za-z]+/.exec(text.slice(at, at + 20)) ?? []
      mended += WORDS[word] ?? (word || char)
      at += word.length || 1
    }
  }
  return mended
}

/** A string from its quote to the same quote, as JSON writes it. */
const readString = (
  text: string,
  start: number,
  quote: string,
): { json: string; end: number } | null => {
  let json = '"'
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charAt(at)
    if (char === quote) return { json: `${json}"`, end: at + 1 }
    if (char === '\\') {
      const next = text.charAt(at + 1)
      json += next === "'" ? next : `\\${CONTROL[next]?.slice(1) ?? next}`
      at += 1
    } else if (char === '"') json += '\\"'
    else json += CONTROL[char] ?? char
  }
  return null
}
