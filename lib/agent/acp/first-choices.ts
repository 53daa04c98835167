/** The first mode, model, and options of an agent's new session: as configured, else a mode that asks before it acts. */
import type { ExternalAgentSettings } from '../external-agent.ts'
import { errorText } from './failures.ts'
import { askingMode, modesOf } from './modes.ts'
import { chooseModel, modelsOf, setOption } from './options.ts'
import type { RunningAgent } from './running-agent.ts'
import type { Session } from './session.ts'

const listed = (words: readonly string[]): string =>
  words.length === 0 ? 'it offers none' : `it offers ${words.slice(0, 30).join(', ')}`

type Chosen = {
  running: RunningAgent
  session: Session
  /** Adds a sentence that the next turn shows. */
  say: (sentence: string) => void
}

const attempt = async (
  { running, say }: Chosen,
  what: string,
  work: () => Promise<unknown>,
): Promise<void> => {
  try {
    await work()
  } catch (error) {
    say(`${running.name} did not take ${what}: ${errorText(error)}`)
  }
}

const chooseFirstModel = async (at: Chosen, model: string): Promise<void> => {
  const { running, session, say } = at
  const { name, connection } = running
  await attempt(at, `the model “${model}” (acp_model)`, async () => {
    if (await chooseModel(connection, session, model)) return
    const offered = modelsOf(session).map(({ id }) => id)
    say(`${name} does not offer the model “${model}” (acp_model); ${listed(offered)}.`)
  })
}

const chooseOption = async (at: Chosen, id: string, wanted: string | boolean): Promise<void> => {
  const { running, session, say } = at
  const { name, connection } = running
  const option = session.options.find(each => each.id === id)
  if (!option) {
    const ids = session.options.map(each => each.id)
    say(`${name} has no option “${id}” (acp_options); ${listed(ids)}.`)
    return
  }
  const values =
    option.type === 'boolean' ? ['true', 'false'] : option.options.map(({ value }) => value)
  if (!values.includes(String(wanted))) {
    say(`${name} has no “${wanted}” for the option “${id}” (acp_options); ${listed(values)}.`)
    return
  }
  const value = option.type === 'boolean' ? String(wanted) === 'true' : String(wanted)
  if (option.currentValue === value) return
  await attempt(at, `“${wanted}” for “${id}” (acp_options)`, () =>
    setOption(connection, session, id, value),
  )
}

const chooseMode = async (at: Chosen, wanted: string | undefined): Promise<void> => {
  const { running, session, say } = at
  const modes = modesOf(session, running.connection)
  const found = modes?.choices.find(({ id }) => id === wanted)
  if (wanted !== undefined && !found)
    say(
      `${running.name} has no mode “${wanted}” (acp_mode); ${listed((modes?.choices ?? []).map(({ id }) => id))}.`,
    )
  if (!modes) return
  const first = found ?? askingMode(modes)
  if (!first || first.id === modes.current) return
  await attempt(at, `the mode “${first.name}”`, () => modes.set(first.id))
}

/** `hasModel`: the model is chosen with each message. */
export const applyFirstChoices = async (
  running: RunningAgent,
  session: Session,
  settings: ExternalAgentSettings | undefined,
  hasModel: boolean,
): Promise<void> => {
  const { mode, model, options = {} } = settings ?? {}
  const at = { running, session, say: (words: string) => void session.remarks.push(words) }
  // A mode may depend on the model.
  if (model !== undefined && !hasModel) await chooseFirstModel(at, model)
  const isModeOption = (id: string) =>
    session.options.some(each => each.id === id && each.category === 'mode')
  for (const [id, value] of Object.entries(options))
    if (!isModeOption(id)) await chooseOption(at, id, value)
  const [, given] = Object.entries(options).find(([id]) => isModeOption(id)) ?? []
  await chooseMode(at, mode ?? (given === undefined ? undefined : String(given)))
}
