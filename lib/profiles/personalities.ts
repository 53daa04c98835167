/** Personalities: named system prompts in config.yaml. */
import { isObject, type JsonObject } from '../base/json.ts'
import { invalid, missing } from '../errors.ts'

/** Maximum size of a prompt in bytes. */
export const PERSONALITY_MAX_BYTES = 20_000

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/
const DESCRIPTION_LENGTH = 80

const text = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** `agent.personalities` takes precedence over the root key of older files. */
const definitions = (config: Readonly<JsonObject>): ReadonlyMap<string, unknown> => {
  const agent = isObject(config.agent) ? config.agent.personalities : undefined
  return new Map(
    [config.personalities, agent].flatMap(source =>
      isObject(source) ? Object.entries(source) : [],
    ),
  )
}

const cut = (whole: string): string => {
  const characters = [...whole]
  return characters.length > DESCRIPTION_LENGTH
    ? `${characters.slice(0, DESCRIPTION_LENGTH).join('')}...`
    : whole
}

const describe = (definition: unknown): string =>
  isObject(definition) ? text(definition.description) : cut(text(definition))

export const listPersonalities = (
  config: Readonly<JsonObject>,
): { name: string; description: string }[] =>
  [...definitions(config)].map(([name, definition]) => ({
    name,
    description: describe(definition),
  }))

/** The prompt of a definition: a string, or a mapping with prompt, tone and style. */
export const promptOf = (definition: unknown): string => {
  if (!isObject(definition)) return text(definition)
  const tone = text(definition.tone)
  const style = text(definition.style)
  return [
    text(definition.system_prompt) || text(definition.prompt),
    tone && `Tone: ${tone}`,
    style && `Style: ${style}`,
  ]
    .filter(Boolean)
    .join('\n')
}

/** The prompt of a personality; throws a UserError when it is missing or invalid. */
export const requirePersonality = (config: Readonly<JsonObject>, name: string): string => {
  if (!NAME.test(name))
    throw invalid('Invalid personality name: letters, numbers, hyphens, underscores only', {
      code: 'personality_not_found',
      values: { name },
    })
  const personalities = definitions(config)
  if (!personalities.has(name))
    throw missing(`Personality "${name}" not found in config.yaml`, {
      code: 'personality_not_found',
      values: { name },
    })
  const prompt = promptOf(personalities.get(name))
  if (!prompt)
    throw invalid(`Personality "${name}" is empty or cannot be read`, {
      code: 'personality_unreadable',
      values: { name },
    })
  if (Buffer.byteLength(prompt) > PERSONALITY_MAX_BYTES)
    throw invalid(`Personality "${name}" is longer than ${PERSONALITY_MAX_BYTES} bytes`, {
      code: 'personality_too_long',
      values: { name, max: PERSONALITY_MAX_BYTES },
    })
  return prompt
}

/** The current prompt of a session's personality; null when it no longer exists. */
export const personalityPrompt = (
  config: Readonly<JsonObject>,
  name: string | null | undefined,
): string | null => {
  const prompt = name ? promptOf(definitions(config).get(name)) : ''
  return prompt && Buffer.byteLength(prompt) <= PERSONALITY_MAX_BYTES ? prompt : null
}
