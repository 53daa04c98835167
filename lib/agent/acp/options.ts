/** Sets an agent session's mode, options, and model. */
import type { ExternalSession } from '../external-agent.ts'
import type { RunningAgent } from './running-agent.ts'
import type { Connection } from './connection.ts'
import { withTimeout } from './timeout.ts'
import { errorText } from './failures.ts'
import type { Session } from './session.ts'
import { type ConfigOption, ConfigOptions, OpenedSession } from './updates.ts'

const CALL_MS = 60_000

/** The models it offers: as a config option, or in the older `models` field. */
export const modelsOf = ({ options, models }: Session): { id: string; label: string }[] => {
  const option = modelOption(options)
  if (option) return option.options.map(({ value, name }) => ({ id: value, label: name }))
  return (models?.availableModels ?? []).map(({ modelId, name }) => ({ id: modelId, label: name }))
}

const modelOption = (options: readonly ConfigOption[]) =>
  options.find(
    (option): option is Extract<ConfigOption, { type: 'select' }> =>
      option.type === 'select' && (option.category === 'model' || option.id === 'model'),
  )

/** False if the agent doesn't offer the model. */
export const chooseModel = async (
  connection: Connection,
  session: Session,
  model: string,
): Promise<boolean> => {
  const option = modelOption(session.options)
  if (option?.options.some(({ value }) => value === model)) {
    if (option.currentValue !== model) await setOption(connection, session, option.id, model)
    return true
  }
  const { models } = session
  if (!models?.availableModels.some(({ modelId }) => modelId === model)) return false
  if (models.currentModelId !== model) {
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
  const answer = await withTimeout(
    connection.request('session/set_config_option', {
      sessionId: session.id,
      configId: id,
      ...typed,
    }),
    CALL_MS,
    'The agent did not answer within a minute.',
  )
  const parsed = OpenedSession.safeParse(answer)
  if (parsed.success && parsed.data.configOptions) session.options = parsed.data.configOptions
  else
    session.options = ConfigOptions.parse(
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
  await withTimeout(
    connection.request('session/set_mode', { sessionId: session.id, modeId }),
    CALL_MS,
    'The agent did not answer within a minute.',
  )
  if (session.modes) session.modes = { ...session.modes, currentModeId: modeId }
}

/** Sets the saved mode and options again, which an agent loses with its process. Otherwise a session in plan mode could start to make changes. */
export const restoreChoices = async (
  { connection, log, name }: RunningAgent,
  session: Session,
  { mode, options }: ExternalSession,
): Promise<void> => {
  const { modes } = session
  const model = modelOption(session.options)?.id
  const attempt = async (what: string, work: Promise<void>) => {
    try {
      await work
    } catch (error) {
      log(`${name} did not restore ${what}: ${errorText(error)}`)
    }
  }
  if (mode !== null && modes?.availableModes.some(({ id }) => id === mode))
    if (modes.currentModeId !== mode) await attempt('its mode', setMode(connection, session, mode))
  for (const option of [...session.options]) {
    const wanted = options[option.id]
    // The model is set with each message, the mode above.
    if (wanted === undefined || wanted === option.currentValue || option.id === model) continue
    if (option.category === 'mode' && modes) continue
    const isOffered =
      option.type === 'boolean'
        ? typeof wanted === 'boolean'
        : option.options.some(({ value }) => value === wanted)
    if (isOffered) await attempt(option.name, setOption(connection, session, option.id, wanted))
  }
}
