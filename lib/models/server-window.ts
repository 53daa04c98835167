/** Asks a local model server for the context window that is really in use, and for vision. The program is recognized by its answers. */
import type { Dispatcher } from 'undici'
import type { ServerKind } from '../agent/window-services.ts'
import { asObject, asObjects, asString, type JsonObject } from '../base/json.ts'
import { readJsonBody } from './read-json-body.ts'
import { asFlag, visionIn } from './vision.ts'

export type ServerWindow = {
  kind: ServerKind
  /** Tokens; 0 when the server does not say. */
  tokens: number
  /** False: the model is not loaded, and `tokens` is a documented default that the server may have overridden. */
  isCertain: boolean
  /** The window the model was trained with; 0 when unknown. */
  trained: number
  /** Whether the model accepts images; undefined when the server does not say. */
  vision?: boolean
}

export type ServerRequest = {
  /** Base URL of the OpenAI-compatible API, with or without `/v1`. */
  baseUrl: string
  model: string
  /** Includes the key of this endpoint; requests go to its own origin only. */
  headers: Readonly<Record<string, string>>
  signal: AbortSignal
  dispatcher?: Dispatcher | undefined
}

const MAX_BYTES = 4 * 1024 * 1024

/** The server's own API is beside `/v1`. */
export const serverRoot = (baseUrl: string): string =>
  baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')

/** The JSON object of a 200 response, empty for any other answer. Redirects are not followed: they could lead the key away. */
const fetchObject = async (
  { baseUrl, headers, signal, dispatcher }: ServerRequest,
  path: string,
  body?: unknown,
): Promise<Readonly<JsonObject>> => {
  try {
    const { request } = await import('undici')
    const answer = await request(`${serverRoot(baseUrl)}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
      ...(dispatcher && { dispatcher }),
    })
    if (answer.statusCode !== 200) {
      answer.body.on('error', () => undefined).destroy()
      return {}
    }
    return asObject(await readJsonBody(answer.body, MAX_BYTES))
  } catch {
    // Unreachable, too slow, or another program: the caller works with what is known otherwise.
    return {}
  }
}

const count = (value: unknown): number =>
  Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : 0

const seen = (vision: boolean | undefined): { vision?: boolean } =>
  vision === undefined ? {} : { vision }

/** `llama3.2` and `llama3.2:latest` are the same model. */
const tagged = (model: string): string =>
  /:[^/]*$/.test(model) ? model.toLowerCase() : `${model.toLowerCase()}:latest`

/** Ollama's default size with less than 24 GiB of video memory (docs/context-length.mdx). */
const OLLAMA_DEFAULT = 4_096

/** A model of Ollama's cloud behind a local server: it is never loaded here, and has its whole window (docs/cloud.mdx). */
const isInCloud = (model: string, info: Readonly<JsonObject>): boolean =>
  asString(info.remote_host) !== '' || /:(?:.*-)?cloud$/.test(model)

/** `num_ctx` among the lines of a model's parameters. */
const numCtxIn = (parameters: unknown): number =>
  count(Number(/^\s*num_ctx\s+(\d+)/m.exec(asString(parameters))?.[1]))

/** The trained window is `<architecture>.context_length`. */
const trainedWindow = (modelInfo: unknown): number => {
  const info = asObject(modelInfo)
  return count(info[`${asString(info['general.architecture'])}.context_length`])
}

/** `GET /api/ps` lists loaded models with the window they were loaded with, `POST /api/show` the parameters of a model. */
const askOllama = async (server: ServerRequest): Promise<ServerWindow | null> => {
  const { model } = server
  const { version } = await fetchObject(server, '/api/version')
  if (asString(version) === '') return null
  const [running, info] = await Promise.all([
    fetchObject(server, '/api/ps'),
    fetchObject(server, '/api/show', { model }),
  ])
  const entry = asObjects(running.models).find(({ name, model: id }) =>
    [name, id].some(text => tagged(asString(text)) === tagged(model)),
  )
  const inUse = count(entry?.context_length)
  const trained = trainedWindow(info.model_info)
  const vision = seen(visionIn(info))
  if (inUse > 0) return { kind: 'ollama', tokens: inUse, isCertain: true, trained, ...vision }
  if (isInCloud(model, info))
    return { kind: 'ollama', tokens: trained, isCertain: true, trained, ...vision }
  const configured = numCtxIn(info.parameters)
  const contextLength = configured || (trained > 0 ? OLLAMA_DEFAULT : 0)
  const tokens = trained > 0 ? Math.min(contextLength, trained) : contextLength
  return { kind: 'ollama', tokens, isCertain: configured > 0, trained, ...vision }
}

/** `GET /api/v1/models` (0.4 and later), else `GET /api/v0/models`. */
const askLmStudio = async (server: ServerRequest): Promise<ServerWindow | null> => {
  const [newer, older] = await Promise.all([
    fetchObject(server, '/api/v1/models'),
    fetchObject(server, '/api/v0/models'),
  ])
  const entry = asObjects(newer.models).find(({ key, loaded_instances }) =>
    [key, ...asObjects(loaded_instances).map(({ id }) => id)].includes(server.model),
  )
  if (entry && Array.isArray(entry.loaded_instances)) {
    const instances = asObjects(entry.loaded_instances)
    const instance = instances.find(({ id }) => id === server.model) ?? instances[0]
    const tokens = count(asObject(instance?.config).context_length)
    return {
      kind: 'lmstudio',
      tokens,
      isCertain: tokens > 0,
      trained: count(entry.max_context_length),
      ...seen(visionIn(entry)),
    }
  }
  const row = asObjects(older.data).find(({ id }) => id === server.model)
  if (!row || !('max_context_length' in row)) return null
  const tokens = row.state === 'loaded' ? count(row.loaded_context_length) : 0
  const trained = count(row.max_context_length)
  const vision = seen(visionIn(row))
  return { kind: 'lmstudio', tokens, isCertain: tokens > 0, trained, ...vision }
}

/** `GET /props`: `n_ctx` of the default settings is the window of one slot. A router needs the model's name. */
const askLlamaCpp = async (server: ServerRequest): Promise<ServerWindow | null> => {
  const query = new URLSearchParams({ model: server.model, autoload: 'false' })
  const props = await fetchObject(server, `/props?${query}`)
  const tokens = count(asObject(props.default_generation_settings).n_ctx)
  const vision = seen(asFlag(asObject(props.modalities).vision))
  return tokens > 0 ? { kind: 'llamacpp', tokens, isCertain: true, trained: 0, ...vision } : null
}

/** vLLM and SGLang list `max_model_len`, the window in use. */
const askOpenAi = async (server: ServerRequest): Promise<ServerWindow | null> => {
  const list = await fetchObject(server, '/v1/models')
  const tokens = count(asObjects(list.data).find(({ id }) => id === server.model)?.max_model_len)
  return tokens > 0 ? { kind: 'openai', tokens, isCertain: true, trained: 0 } : null
}

const ASK: Readonly<Record<ServerKind, (server: ServerRequest) => Promise<ServerWindow | null>>> = {
  // llama.cpp imitates some of Ollama's paths, so it comes first.
  llamacpp: askLlamaCpp,
  lmstudio: askLmStudio,
  ollama: askOllama,
  openai: askOpenAi,
}

/** Null when no known program answers. `kind`: what answered before, so that only its own paths are requested. */
export const askServerWindow = async (
  server: ServerRequest,
  kind?: ServerKind,
): Promise<ServerWindow | null> => {
  if (kind) return ASK[kind](server)
  const answers = await Promise.all(Object.values(ASK).map(ask => ask(server)))
  return answers.find(answer => answer !== null) ?? null
}

/** Loads a model that is not in memory, as its next call would; settles when it is loaded or the server refuses. */
export const loadOllamaModel = async (server: ServerRequest): Promise<void> => {
  await fetchObject(server, '/api/generate', { model: server.model, stream: false })
}
