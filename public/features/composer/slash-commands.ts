/** What each slash command of `lib/base/slash-commands.ts` does. Unknown commands go to the agent as text. */
import { type SlashCommandName, slashCommands } from '../../../lib/base/slash-commands.ts'
import type { App } from '../../app.ts'
import type { View } from '../messages/chat-messages.ts'
import type { OfferedCommand } from './find-commands.ts'
import { matchModels } from '../models/match-models.ts'
import { isEffortChoice } from './reasoning.ts'
import { mayRun } from './slash-routes.ts'
import { USAGE_DAYS } from '../shell/route.ts'
import { isTheme, THEMES } from '../settings/settings.ts'
import { sessionTitle } from '../sessions/sessions.ts'
import type { SteeringCommand } from '../queue/actions.ts'
import { t as described } from './slash-strings.ts'
import { t } from './strings.ts'

/** Runs a command; resolves to the sentence to show, or to nothing when the effect is visible. */
type Run = (app: App, argument: string) => string | undefined | Promise<string | undefined>

/** A command whose effect is visible: it shows no sentence. */
const silent =
  (verb: (app: App, argument: string) => unknown): Run =>
  async (app, argument) => {
    await verb(app, argument)
    return undefined
  }

/** A command that leads somewhere. Its chunk may be loaded first, and the person may have gone elsewhere. */
const leading = (verb: (app: App, argument: string) => unknown): Run =>
  silent((app, argument) => app.pane.isShown.peek() && verb(app, argument))

/** A command that needs an open session. */
const inSession =
  (
    verb: (
      app: App,
      id: string,
      argument: string,
    ) => string | undefined | Promise<string | undefined>,
  ): Run =>
  async (app, argument) => {
    const id = app.chat.transcript.sessionId.value
    if (!id) throw new Error(t('command.needs.session'))
    return verb(app, id, argument)
  }

const CLEARING = ['none', 'default', 'clear']

const model: Run = async (app, query) => {
  if (!query) {
    app.shell.layout.picker.value = 'model'
    return undefined
  }
  const [match] = matchModels(app.models.all.value, query)
  if (!match) return t('command.model.none', { query })
  await app.chat.choices.chooseModel(match.id)
  return t('command.model', { name: match.label })
}

const workspace: Run = async (app, query) => {
  // What was done so far was done there.
  if (app.chat.transcript.chat.peek().messages.length > 0) return t('command.workspace.fixed')
  if (!query) {
    app.shell.layout.picker.value = 'workspace'
    return undefined
  }
  const needle = query.toLowerCase()
  const match = app.workspaces.list.value.find(({ name, path }) =>
    `${name} ${path}`.toLowerCase().includes(needle),
  )
  if (!match) return t('command.workspace.none', { query })
  await app.chat.choices.chooseWorkspace(match.path)
  return t('command.workspace', { name: app.workspaces.nameOf(match.path) })
}

const theme: Run = async (app, name) => {
  if (!name) return t('command.theme.list', { names: THEMES })
  const value = isTheme(name.toLowerCase()) ? name.toLowerCase() : name
  await app.settings.save('theme', value)
  return t('command.theme', { name: value })
}

const personality: Run = async (app, name) => {
  await app.composer.personalities.load()
  if (!name) {
    const names = app.composer.personalities.list.value.map(one => one.name)
    return names.length > 0
      ? t('command.personality.list', { names })
      : t('command.personality.empty')
  }
  const set = await app.chat.choices.choosePersonality(
    CLEARING.includes(name.toLowerCase()) ? '' : name,
  )
  return set ? t('command.personality', { name: set }) : t('command.personality.none')
}

const reasoning: Run = async (app, argument) => {
  const word = argument.toLowerCase()
  if (word === 'show' || word === 'on') await app.composer.showThinking(true)
  else if (word === 'hide' || word === 'off') await app.composer.showThinking(false)
  else if (isEffortChoice(word)) await app.composer.reasoning.setEffort(word)
  else if (word) return t('command.reasoning.unknown', { arg: argument })
  else await app.composer.reasoning.load()
  return t('command.reasoning', {
    shown: t(
      app.composer.reasoning.isShown.value ? 'command.reasoning.shown' : 'command.reasoning.hidden',
    ),
    effort: t(`effort.${app.composer.reasoning.effort.value}`),
  })
}

const status = inSession(async (app, id) => {
  const { agent_running } = await app.shell.api('GET /api/session/status', { session_id: id })
  const row = app.sessions.row(id)
  return t('command.status', {
    title: sessionTitle(row ?? { title: '' }),
    messages: t('list.messages', { count: row?.message_count ?? 0 }),
    model: app.models.labelOf(row?.model ?? null),
    state: t(agent_running ? 'command.status.running' : 'command.status.idle'),
  })
})

/** Loaded on first use. */
const steering = (name: SteeringCommand): Run =>
  inSession(async (app, id, argument) =>
    (await import('../queue/lazy-queue.ts')).steeringActions[name](app, id, argument),
  )

const compact: Run = inSession(async (app, id, topic) =>
  (await import('../compaction/actions.ts')).compactionActions.compact(app, id, topic),
)

/** Only what follows this message; everything when it is not there. */
const after =
  (id: string | undefined): View =>
  chat => {
    const end = chat.messages.findIndex(message => message.id === id) + 1
    return end === 0 ? chat : { ...chat, messages: chat.messages.slice(end), before: 0 }
  }

const FORMATS = ['md', 'json', 'html'] as const

const run: Readonly<Record<SlashCommandName, Run>> = {
  help: leading(app => (app.shell.layout.shortcutsOpen.value = true)),
  new: silent(app => app.pane.newChat()),
  clear: inSession(app => {
    const last = app.chat.transcript.chat.peek().messages.at(-1)?.id
    app.chat.transcript.view.value = after(last)
    app.chat.transcript.checkEditing()
    return t('command.clear')
  }),
  retry: inSession(async app => {
    await app.chat.turns.retry()
    return undefined
  }),
  undo: inSession((app, id) => app.chat.turns.undo(id)),
  title: inSession(async (app, id, title) => {
    if (!title) return t('command.title.usage')
    await app.sessions.rename(id, title)
    return undefined
  }),
  compact,
  branch: inSession(async (app, id) => {
    await app.sessionActions.branch(id)
    return undefined
  }),
  rollback: inSession(({ panel }, _, number) => {
    panel.rollback.value = Number(number) || 0
    panel.choose('changes')
    panel.show()
    return undefined
  }),
  async stop(app) {
    if (!app.chat.transcript.busy.value) return t('command.not.running')
    await app.chat.turns.stop()
    return undefined
  },
  status,
  queue: steering('queue'),
  steer: steering('steer'),
  interrupt: steering('interrupt'),
  btw: steering('btw'),
  background: steering('background'),
  export: inSession((app, id, argument) => {
    const format = FORMATS.find(one => one === (argument.toLowerCase() || 'md'))
    if (!format) return t('command.export.format')
    app.sessionActions.exportAs(id, format)
    return undefined
  }),
  model,
  workspace,
  personality,
  reasoning,
  theme,
  async usage(app) {
    const isOn = !app.settings.current.value.show_token_usage
    await app.settings.save('show_token_usage', isOn)
    return t(isOn ? 'command.usage.on' : 'command.usage.off')
  },
  async plan(app, task) {
    return (await import('../plan/plan-mode.ts')).planCommand(app, task)
  },
  yolo: steering('yolo'),
  skills: leading((app, query) => app.shell.route.go({ view: 'skills', skill: null, query })),
  tools: leading(app => app.shell.route.go({ view: 'settings', section: 'tools' })),
  insights: leading((app, days) =>
    app.shell.route.go({
      view: 'usage',
      days: USAGE_DAYS.find(count => `${count}` === days) ?? 30,
    }),
  ),
}

export type Command = (typeof commands)[number]

export const commands = slashCommands.map(command => ({ ...command, run: run[command.name] }))

const GROUPS = {
  Session: 'chat',
  Configuration: 'options',
  'Tools & Skills': 'go',
  Info: 'go',
} as const

/** For the completion list, in the language of the page. */
export const suggestions = (): OfferedCommand[] =>
  slashCommands
    .filter(({ name }) => mayRun(name))
    .map(({ name, args_hint, category }) => ({
      name,
      group: GROUPS[category],
      summary: described(name),
      argument: args_hint ? described(`${name}.arguments`) : '',
    }))

export { findCommands } from './find-commands.ts'

/** Parses `/name argument`; null for other text, which is sent to the agent. */
export const parseCommand = (text: string): { command: Command; argument: string } | null => {
  const match = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim())
  const word = match?.[1]?.toLowerCase()
  const command = commands.find(
    ({ name, aliases = [] }) => name === word || aliases.some(alias => alias === word),
  )
  return command ? { command, argument: match?.[2]?.trim() ?? '' } : null
}
