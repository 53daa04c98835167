/** Which models accept images: config.yaml, else the list of the provider, else the model's family. Unknown models get none. */
import { asObject, type JsonObject } from '../base/json.ts'

export const asFlag = (value: unknown): boolean | undefined =>
  typeof value === 'boolean' ? value : undefined

const listsImages = (value: unknown): boolean | undefined =>
  Array.isArray(value) ? value.includes('image') : undefined

/** Whether an entry of a model list says that the model accepts images: every provider does in its own way. Undefined when it does not say. */
export const visionIn = (raw: Readonly<JsonObject>): boolean | undefined => {
  const { capabilities: value, type } = raw
  const capabilities = asObject(value)
  return (
    // OpenRouter; xAI and others; models.dev and gateways that follow it.
    listsImages(asObject(raw.architecture).input_modalities) ??
    listsImages(raw.input_modalities) ??
    listsImages(asObject(raw.modalities).input) ??
    // Mistral and LM Studio; GitHub Copilot; Anthropic; Moonshot.
    asFlag(capabilities.vision) ??
    asFlag(asObject(capabilities.supports).vision) ??
    asFlag(asObject(capabilities.image_input).supported) ??
    asFlag(raw.supports_image_in) ??
    // Ollama's `/api/show` and llama.cpp.
    (Array.isArray(value)
      ? value.includes('vision') || value.includes('multimodal')
      : // LM Studio's API v0; in v1 every model is an `llm`.
        type === 'vlm' || (type === 'llm' && 'arch' in raw ? false : undefined))
  )
}

/**
 * Families by parts of their names, first match wins; a name without a match is unknown. Needed because the table of prices has
 * no modalities, and half of the providers' lists say nothing either. From the makers' model pages, November 2026. A wrong entry costs one rejected request; see `agent/providers/image-rejections.ts`.
 */
const FAMILIES: readonly (readonly [family: RegExp, acceptsImages: boolean])[] = [
  // Parts that makers use for models of any family.
  [/embed|whisper|-tts|-audio|realtime|moderation|guard/, false],
  [
    /vision|-vl\b|\bvl-|[-\d]vl\b|multimodal|omni|llava|moondream|minicpm-[vo]|internvl|smolvlm|molmo|pixtral|qvq|ocr/,
    true,
  ],
  [/claude-(?:2|instant|v)/, false],
  [/claude/, true],
  [
    /gpt-oss|gpt-3|gpt-4(?:-0613|-0314|-32k)?$|o1-mini|o1-preview|o3-mini|codex-spark|search-preview/,
    false,
  ],
  [/gpt-(?:4o|4\.|4-turbo|[5-9])|chatgpt-4o|codex-mini|(?:^|\/)o[134](?:-|$)/, true],
  [/gemini/, true],
  [/gemma-?3(?:-|:)(?:270m|1b)|gemma-?3n/, false],
  [/gemma-?[34]/, true],
  [/grok-(?:[123](?!\d)|code|build)/, false],
  [/grok-[4-9]/, true],
  [
    /mistral-small-(?:latest|3\.[1-9]|250[3-9]|251|26)|mistral-(?:medium|large)-(?:latest|3|25|26)|ministral-3/,
    true,
  ],
  [/codestral|mixtral|mistral-nemo|mathstral/, false],
  [/qwen-?3\.[5-9](?!.*(?:coder|max))/, true],
  [/qwen.*coder|qwen-?2\.5|qwen-?3(?:[-:]|$)|qwq/, false],
  [/llama-?4|llama-?3\.2-(?:11|90)b/, true],
  [/llama-?(?:2|3(?:\.[0-3])?)(?:[-:]|$)/, false],
  [/glm-\d(?:\.\d)?v/, true],
  [/glm-/, false],
  [/kimi-(?:k2\.[5-9]|k[3-9]|latest)/, true],
  [/kimi-k2|moonshot-v1/, false],
  [/minimax-(?:m1|m2|text)/, false],
  [/deepseek/, false],
  [/nova-(?:lite|pro|premier)/, true],
  [/nova-micro|command-r|phi-?[1234](?:[-:]|$)|codellama|starcoder|granite/, false],
]

/** By the model's name alone; undefined when unknown. */
export const familyAcceptsImages = (model: string): boolean | undefined => {
  const name = model.toLowerCase()
  return FAMILIES.find(([family]) => family.test(name))?.[1]
}
