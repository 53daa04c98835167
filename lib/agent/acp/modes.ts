/** The modes of an agent's session, however it reports them, and which of them asks before it acts. */
import type { Connection } from './connection.ts'
import { setMode, setOption } from './options.ts'
import type { Session } from './session.ts'

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
