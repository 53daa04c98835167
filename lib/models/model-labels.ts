/** Display names derived from model ids. */

const CASING: ReadonlyMap<string, string> = new Map(
  ['GPT', 'GLM', 'API', 'AI', 'XL', 'MoE'].map(token => [token.toLowerCase(), token]),
)

const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)

/** `openai/gpt-5-mini` → `GPT 5 Mini`. */
export const liveLabel = (id: string): string => {
  const tokens = id
    .slice(id.lastIndexOf('/') + 1)
    .split('-')
    .filter(token => token !== '')
  const words = tokens.map(token => CASING.get(token.toLowerCase()) ?? capital(token))
  return words.join(' ') || id
}

const tagPart = (text: string): string =>
  text
    .split(/[-_\s]+/)
    .filter(token => token !== '')
    .map(token => {
      const isShort = /^[a-z]{1,3}$/i.test(token)
      return isShort || /^\d[a-z0-9]*$/i.test(token) ? token.toUpperCase() : capital(token)
    })
    .join(' ')

/** `qwen3-vl:8b` → `Qwen3 VL (8B)`. */
export const tagLabel = (id: string): string => {
  const name = id.slice(id.lastIndexOf('/') + 1)
  const cut = name.indexOf(':')
  if (cut < 0) return tagPart(name) || id
  const variant = tagPart(name.slice(cut + 1))
  return `${tagPart(name.slice(0, cut))}${variant ? ` (${variant})` : ''}`
}

/** The part after the last slash. */
export const shortLabel = (id: string): string => id.slice(id.lastIndexOf('/') + 1) || id
