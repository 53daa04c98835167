/** The mode, the model, and the other options of an agent's session: what it offers, setting them, and how a session begins. */
import type { ExternalAgentSettings, ExternalSession } from '../external-agent.ts'
import type { Connection } from './connection.ts'
import { errorText } from './failures.ts'
import type { RunningAgent } from './running-agent.ts'
import type { Session } from './session.ts'
import { withTimeout } from './timeout.ts'
import { type ConfigOption, ConfigOptions, OpenedSession } from './updates.ts'

const CALL_MS = 60_000
const TOO_LATE = 'The agent did not answer within a minute.'

const modelOption = (options: readonly ConfigOption[]) =>
  options.find(
    (option): option is Extract<ConfigOption, { type: 'select' }> =>
      option.type === 'select' && (option.category === 'model' || option.id === 'model'),
  )

/** The models it offers: as a config option, or in the older `models` field. */
export const modelsOf = ({ options, models }: Session): { id: string; label: string }[] => {
  const option = modelOption(options)
  if (option) return option.options.map(({ value, name }) => ({ id: value, label: name }))
  return (models?.availableModels ?? []).map(({ modelId, name }) => ({ id: modelId, label: name }))
}

/** False if the agent doesn't offer the model. */
export const chooseModel = async (
  connection: Connection,
  session: Session,
  model: string,
): Promise<boolean> => {
  if (!modelsOf(session).some(({ id }) => id === model)) return false
  const option = modelOption(session.options)
  const { models } = session
  if (option) {
    if (option.currentValue !== model) await setOption(connection, session, option.id, model)
  } else if (models && models.currentModelId !== model) {
    await connection.request('session/set_model', { sessionId: session.id, modelId: model })
    session.models = { ...models, currentModelId: model }
  }
  return true
}

export const setOption = async (
  connection: Connection,
  session: Session,
  id: string,
  value: string | boolean,
): Promise<void> => {
  const typed = typeof value === 'boolean' ? { type: 'boolean', value } : { value }
  const params = { sessionId: session.id, configId: id, ...typed }
  const answer = await withTimeout(
    connection.request('session/set_config_option', params),
    CALL_MS,
    TOO_LATE,
  )
  const parsed = OpenedSession.safeParse(answer)
  session.options =
    (parsed.success ? parsed.data.configOptions : null) ??
    ConfigOptions.parse(
      session.options.map(option =>
        option.id === id ? { ...option, currentValue: value } : option,
      ),
    )
}

export const setMode = async (
  connection: Connection,
  session: Session,
  modeId: string,
): Promise<void> => {
  const params = { sessionId: session.id, modeId }
  await withTimeout(connection.request('session/set_mode', params), CALL_MS, TOO_LATE)
  if (session.modes) session.modes = { ...session.modes, currentModeId: modeId }
}

export type Mode = { id: string; name: string; description: string }

export type Modes = {
  current: string
  choices: readonly Mode[]
  set: (mode: string) => Promise<void>
}

/** Older agents have modes, newer ones an option of the category `mode`. */
export const modesOf = (session: Session, connection: Connection): Modes | null => {
  const { modes } = session
  if (modes)
    return {
      current: modes.currentModeId,
      choices: modes.availableModes.map(({ description, ...mode }) => ({
        ...mode,
        description: description ?? '',
      })),
      set: mode => setMode(connection, session, mode),
    }
  const option = session.options.find(
    ({ type, category }) => type === 'select' && category === 'mode',
  )
  if (option?.type !== 'select') return null
  return {
    current: option.currentValue,
    choices: option.options.map(({ value, name, description }) => ({
      id: value,
      name,
      description: description ?? '',
    })),
    set: mode => setOption(connection, session, option.id, mode),
  }
}

/** What a mode says that asks: Claude Code, Codex, Gemini CLI, Qwen Code, Mistral Vibe and our own agent. */
const ASKS =
  /\b(?:always asks?|asks? (?:you )?(?:before|for (?:every|each|all|approval|permission|confirmation))|(?:requires?|prompts? for) (?:your |manual )?(?:approval|permission|confirmation)|approval is required|manual(?:ly)? approv)/i
/** It asks only about some of what it does. */
const ACTS =
  /\b(?:never|auto(?:matic\w*)?|only ask|except|unless|without asking|outside|risky|unsafe|accepts?)\b/i

/** Ids of modes that ask, in agents that do not describe them so; goose calls it `approve`. */
const ASKING_IDS = /^(?:default|manual|approve|always-ask|ask-always)$/i

const asks = ({ id, description }: Mode): boolean =>
  (ASKING_IDS.test(id) || ASKS.test(description)) && !ACTS.test(description)

/** Null if the agent offers none, or is in one. */
export const askingMode = ({ current, choices }: Modes): Mode | null => {
  const asking = choices.filter(asks)
  return asking.some(({ id }) => id === current) ? null : (asking[0] ?? null)
}

type WantedChoices = {
  mode?: string | null | undefined
  model?: string | undefined
  options: Readonly<Record<string, string | boolean>>
}

const listed = (words: readonly string[]): string =>
  words.length === 0 ? 'it offers none' : `it offers ${words.slice(0, 30).join(', ')}`

/** `missing` gets a sentence for what the agent does not offer, `failed` for what it does not take. */
const applyChoices = async (
  { connection, name }: RunningAgent,
  session: Session,
  { mode, model, options }: WantedChoices,
  { missing, failed, asks: mustAsk }: { missing: Say; failed: Say; asks: boolean },
): Promise<void> => {
  const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      failed(`${name} did not take ${what}: ${errorText(error)}`)
    }
  }
  // A mode may depend on the model.
  if (model !== undefined)
    await attempt(`the model “${model}” (acp_model)`, async () => {
      if (await chooseModel(connection, session, model)) return
      const ids = modelsOf(session).map(({ id }) => id)
      missing(`${name} does not offer the model “${model}” (acp_model); ${listed(ids)}.`)
    })
  let modeId = mode ?? undefined
  for (const [id, value] of Object.entries(options)) {
    const option = session.options.find(each => each.id === id)
    if (option?.category === 'mode') {
      modeId ??= String(value)
      continue
    }
    const values =
      option?.type === 'boolean' ? ['true', 'false'] : option?.options.map(each => each.value)
    const ids = session.options.map(each => each.id)
    if (!option || !values) missing(`${name} has no option “${id}” (acp_options); ${listed(ids)}.`)
    else if (!values.includes(String(value)))
      missing(`${name} has no “${value}” for the option “${id}” (acp_options); ${listed(values)}.`)
    else if (String(option.currentValue) !== String(value)) {
      const typed = option.type === 'boolean' ? String(value) === 'true' : String(value)
      const what = `“${value}” for “${id}” (acp_options)`
      await attempt(what, () => setOption(connection, session, id, typed))
    }
  }
  const modes = modesOf(session, connection)
  const choice = modes?.choices.find(({ id }) => id === modeId)
  const ids = modes?.choices.map(({ id }) => id) ?? []
  if (modeId !== undefined && !choice)
    missing(`${name} has no mode “${modeId}” (acp_mode); ${listed(ids)}.`)
  const next = choice ?? (modes && mustAsk ? askingMode(modes) : null)
  if (modes && next && next.id !== modes.current)
    await attempt(`the mode “${next.name}”`, () => modes.set(next.id))
}

type Say = (sentence: string) => void

/** Sets what a new session begins with: as configured, else a mode that asks before it acts. `hasModel`: the model is chosen with each message. */
export const applyFirstChoices = (
  running: RunningAgent,
  session: Session,
  { mode, model, options = {} }: Partial<ExternalAgentSettings> = {},
  hasModel: boolean,
): Promise<void> => {
  const say: Say = words => void session.remarks.push(words)
  const choices = { mode, options, model: hasModel ? undefined : model }
  return applyChoices(running, session, choices, { missing: say, failed: say, asks: true })
}

/** Sets the saved mode and options again, which an agent loses with its process. Otherwise a session in plan mode could start to make changes. */
export const restoreChoices = (
  running: RunningAgent,
  session: Session,
  { mode, options }: ExternalSession,
): Promise<void> => {
  // The model is set with each message.
  const { [modelOption(session.options)?.id ?? '']: _, ...others } = options
  return applyChoices(
    running,
    session,
    { mode, options: others },
    { missing: () => undefined, failed: running.log, asks: false },
  )
}
