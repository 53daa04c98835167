/** Binds the hooks of a home to a turn, and adds what they say about a message of the user to it. */
import { isDirectory } from '../../base/directories.ts'
import { type ParsedHooks, parseHooks } from '../../profiles/hooks/config.ts'
import type { HookRecords } from '../../profiles/hooks/records.ts'
import { scriptsOf } from '../../profiles/hooks/scripts.ts'
import { type PromptAnswer, TurnHooks } from '../../profiles/hooks/turn-hooks.ts'
import type { Home } from '../../profiles/home.ts'
import type { HookRow } from '../../schema/hook.ts'
import type { Sent } from '../../sessions/entries.ts'
import type { Services } from './services.ts'
import type { TurnScope } from './turn-scope.ts'

const parsed = new WeakMap<object, ParsedHooks>()

/** The hooks of a home, parsed again only when its file has changed. Throws when the file cannot be read. */
const hooksOf = (home: Home): ParsedHooks => {
  const values = home.values()
  const earlier = parsed.get(values)
  if (earlier) return earlier
  const hooks = parseHooks(values.hooks)
  parsed.set(values, hooks)
  return hooks
}

/** The hooks of a home, and what they have done since the service started. */
export const hookRows = (home: Home, records: HookRecords): HookRow[] =>
  records.rows(home.dir, hooksOf(home.lenient).hooks)

/** The files that the hooks of a home name, as absolute paths. */
export const hookScripts = (home: Home, workspace: string): string[] => {
  const place = { cwd: workspace, env: home.env() }
  const scripts = new Set(hooksOf(home).hooks.flatMap(({ command }) => scriptsOf(command, place)))
  // `cd "$CLAUDE_PROJECT_DIR" && npm test` does not make a script of the workspace.
  return [...scripts].filter(path => !isDirectory(path))
}

/** Names under which scripts for other agents look for the project. */
const projectVariables = (workspace: string) => ({
  CLAUDE_PROJECT_DIR: workspace,
  AGENT_PROJECT_DIR: workspace,
})

export const hooksFor = (
  { home, workspace, sessionId, turn }: TurnScope,
  { hooks: records, warnings }: Services,
  model: string,
  env: Readonly<Record<string, string>>,
): TurnHooks =>
  TurnHooks.ofTurn({
    hooks: () => hooksOf(home).hooks,
    place: { sessionId, cwd: workspace, profile: home.name, home: home.dir, model },
    env: { ...env, ...projectVariables(workspace) },
    records,
    warn: message => warnings.hook.show(turn, [message]),
  })

/** What the model gets in place of a message that a hook blocked, in this and all later turns. */
const WITHHELD = '[A hook of the user withheld this message.]'

/** How a message is sent to the model, given what hooks said about it. */
export const withHookAnswer = (
  message: string,
  how: Omit<Sent, 'id'>,
  { blocked, context }: PromptAnswer,
): Omit<Sent, 'id'> => {
  if (blocked !== null) return { before: how.before, text: WITHHELD }
  if (context.length === 0) return how
  const notes = context.map(text => `[Added by a hook of the user:\n${text}\n]`)
  return { ...how, text: [how.text ?? message, ...notes].join('\n\n') }
}
