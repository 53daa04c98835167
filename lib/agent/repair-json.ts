/** Repairs common mistakes of small models in JSON. It never closes anything, so truncated text stays invalid. */

const CONTROL: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const WORDS: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }

/** Null for an unterminated string. The result is not always valid JSON. */
export const repairJson = (text: string): string | null => {
  let repaired = ''
  let at = 0
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '"' || char === "'") {
      const string = readString(text, at, char)
      if (string === null) return null
      repaired += string.json
      at = string.end
    } else if (char === ',' && /^,\s*[}\]]/.test(text.slice(at, at + 200))) {
      at += 1
    } else {
      const [word = ''] = /^[A-Za-z]+/.exec(text.slice(at, at + 20)) ?? []
      repaired += WORDS[word] ?? (word || char)
      at += word.length || 1
    }
  }
  return repaired
}

/** Reads a quoted string and returns it in JSON syntax. */
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
