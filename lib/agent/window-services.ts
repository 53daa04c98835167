/** What the engine knows about context windows: the fields of an endpoint, how to find out more, and advice for the user. */
import { type Sentence, sentence } from '../base/sentences.ts'
import type { ModelEndpoint, Tool } from './types.ts'

export type EndpointWindow = {
  /** Context window in tokens; 0 when unknown. */
  contextLength: number
  /** The configuration names the window; a server's answer does not replace it. */
  hasConfiguredWindow?: true
  /** `model.ollama_num_ctx`: sent with each request to an Ollama server. */
  ollamaContext?: number
}

/** Tokens. Windows up to this are small: prompts, results, and the work itself compete for them. */
export const SMALL_WINDOW = 32_768

/** Programs that serve models; `openai` is any other with a compatible API, such as vLLM and SGLang. */
export type ServerKind = 'ollama' | 'lmstudio' | 'llamacpp' | 'openai'

/** A server's answer about the window in use, in tokens; 0 when it does not say. */
export type AskedWindow = { tokens: number; kind: ServerKind }

export type Windows = {
  /** Asks the endpoint's server; waits about a second at most. Null when it cannot be asked. Never rejects. */
  ask: (endpoint: ModelEndpoint) => Promise<AskedWindow | null>
  /** The endpoint with its real window, as far as known. Does not ask. */
  apply: (endpoint: ModelEndpoint) => ModelEndpoint
  /** Keeps a window that a call revealed, for later turns; 0 forgets it. */
  learn: (endpoint: ModelEndpoint, tokens: number) => void
  /** A prompt of so many tokens was read: forgets a smaller window that was learned. */
  noteRead: (endpoint: ModelEndpoint, tokens: number) => void
}

export type WindowServices = {
  /** Absent: windows are known from the configuration and from rejections only. */
  windows?: Windows
  /**
   * A shorter prompt and fewer tools, for an endpoint whose window is too small; tells the user so, with this advice. Absent: the run
   * works with those already.
   */
  reduce?: (
    endpoint: ModelEndpoint,
    advice?: Sentence,
  ) => Promise<{ system: string; tools: readonly Tool[] }>
}

const ADVICE = {
  ollama: 'window.raise_ollama',
  lmstudio: 'window.raise_lmstudio',
  llamacpp: 'window.raise_llamacpp',
  openai: 'window.raise_openai',
} as const satisfies Record<ServerKind, string>

/** How the user gets a larger window from a server. */
export const raiseWindowAdvice = (kind: ServerKind | undefined): Sentence =>
  sentence(kind ? ADVICE[kind] : 'window.raise')
