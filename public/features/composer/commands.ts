/** The slash commands of the composer. Each says what it did in a sentence; unknown ones go to the agent as text. */
import type { App } from '../../app.ts'
import { matchModels } from '../models/models.ts'
import { isChoice } from './reasoning.ts'
import { USAGE_DAYS } from '../shell/route.ts'
import { isTheme, THEMES } from '../settings/settings.ts'
import { titleOf } from '../sessions/sessions.ts'
import type { SteeringCommand } from '../queue/actions.ts'
import { type PlainKey, t } from '../../strings/t.ts'

export type Command = {
  name: string
  aliases?: readonly string[]
  summary: PlainKey
  argument?: PlainKey
  /** What to tell the person; nothing when the effect is plain to see. */
  run: (app: App, argument: string) => string | undefined | Promise<string | undefined>
}

/** A verb that has nothing to say. */
const silent =
  (verb: (app: App, argument: string) => unknown): Command['run'] =>
  async (app, argument) => {
    await verb(app, argument)
    return undefined
  }

/** A verb of the open conversation. */
const inSession =
  (
    verb: (
      app: App,
      id: string,
      argument: string,
    ) => string | undefined | Promise<string | undefined>,
  ): Command['run'] =>
  (app, argument) => {
    const id = app.route.sessionId.value
    return id ? verb(app, id, argument) : t('said.needs.session')
  }

const CLEARING = ['none', 'default', 'clear']

const model: Command['run'] = async (app, query) => {
  if (!query) {
    app.layout.picker.value = 'model'
    return undefined
  }
  const [found] = matchModels(app.models.all.value, query)
  if (!found) return t('said.model.none', { query })
  await app.chooseModel(found.id)
  return t('said.model', { name: found.label })
}

const workspace: Command['run'] = async (app, query) => {
  if (!query) {
    app.layout.picker.value = 'workspace'
    return undefined
  }
  const wanted = query.toLowerCase()
  const found = app.workspaces.list.value.find(({ name, path }) =>
    `${name} ${path}`.toLowerCase().includes(wanted),
  )
  if (!found) return t('said.workspace.none', { query })
  await app.chooseWorkspace(found.path)
  return t('said.workspace', { name: found.name })
}

const theme: Command['run'] = async (app, name) => {
  if (!name) return t('said.theme.list', { names: THEMES.join(', ') })
  const known = isTheme(name.toLowerCase()) ? name.toLowerCase() : name
  await app.settings.save('theme', known)
  return t('said.theme', { name: known })
}

const personality: Command['run'] = async (app, name) => {
  await app.personalities.load()
  if (!name) {
    const names = app.personalities.list.value.map(one => one.name).join(', ')
    return names ? t('said.personality.list', { names }) : t('said.personality.empty')
  }
  const set = await app.choosePersonality(CLEARING.includes(name.toLowerCase()) ? '' : name)
  return set ? t('said.personality', { name: set }) : t('said.personality.none')
}

const reasoning: Command['run'] = async (app, argument) => {
  const word = argument.toLowerCase()
  if (word === 'show' || word === 'on') await app.showThinking(true)
  else if (word === 'hide' || word === 'off') await app.showThinking(false)
  else if (isChoice(word)) await app.reasoning.setEffort(word)
  else if (word) return t('said.reasoning.unknown', { arg: argument })
  else await app.reasoning.load()
  return t('said.reasoning', {
    shown: t(app.reasoning.shown.value ? 'said.reasoning.shown' : 'said.reasoning.hidden'),
    effort: t(`effort.${app.reasoning.effort.value}`),
  })
}

const status = inSession(async (app, id) => {
  const { agent_running } = await app.api('GET /api/session/status', { session_id: id })
  const row = app.sessions.row(id)
  return t('said.status', {
    title: titleOf(row ?? { title: '' }),
    messages: t('list.messages', { count: row?.message_count ?? 0 }),
    model: app.models.labelOf(row?.model ?? null),
    state: t(agent_running ? 'said.status.running' : 'said.status.idle'),
  })
})

/** Loaded when it is first called. */
const steering = (name: SteeringCommand): Command['run'] =>
  inSession(async (app, id, argument) =>
    (await import('../queue/lazy-queue.ts')).steeringVerbs[name](app, id, argument),
  )

const compact: Command['run'] = inSession(async (app, id, topic) =>
  (await import('../compaction/actions.ts')).compactVerbs.compact(app, id, topic),
)

const FORMATS = ['md', 'json', 'html'] as const

export const commands: readonly Command[] = [
  { name: 'help', summary: 'command.help', run: silent(app => (app.layout.sheet.value = true)) },
  { name: 'new', aliases: ['reset'], summary: 'command.new', run: silent(app => app.newChat()) },
  { name: 'clear', summary: 'command.clear', run: inSession((app, id) => app.askClear(id)) },
  { name: 'model', summary: 'command.model', argument: 'arg.query', run: model },
  { name: 'workspace', summary: 'command.workspace', argument: 'arg.query', run: workspace },
  {
    name: 'usage',
    summary: 'command.usage',
    async run(app) {
      const shown = !app.settings.current.value.show_token_usage
      await app.settings.save('show_token_usage', shown)
      return t(shown ? 'said.usage.on' : 'said.usage.off')
    },
  },
  { name: 'theme', summary: 'command.theme', argument: 'arg.theme', run: theme },
  {
    name: 'personality',
    summary: 'command.personality',
    argument: 'arg.personality',
    run: personality,
  },
  { name: 'reasoning', summary: 'command.reasoning', argument: 'arg.reasoning', run: reasoning },
  {
    name: 'title',
    summary: 'command.title',
    argument: 'arg.title',
    run: inSession(async (app, id, title) => {
      if (!title) return t('said.title.usage')
      await app.sessions.rename(id, title)
      return undefined
    }),
  },
  { name: 'retry', summary: 'command.retry', run: inSession(app => app.retry()) },
  { name: 'undo', summary: 'command.undo', run: inSession((app, id) => app.undo(id)) },
  {
    name: 'rollback',
    summary: 'command.rollback',
    argument: 'arg.rollback',
    run: inSession(({ panel }, _, number) => {
      panel.rollback.value = Number(number) || 0
      panel.choose('changes')
      panel.show()
      return undefined
    }),
  },
  {
    name: 'stop',
    summary: 'command.stop',
    run: app => (app.chat.busy.value ? app.stop() : t('said.not.running')),
  },
  { name: 'status', summary: 'command.status', run: status },
  {
    name: 'queue',
    aliases: ['q'],
    summary: 'command.queue',
    argument: 'arg.message',
    run: steering('queue'),
  },
  { name: 'steer', summary: 'command.steer', argument: 'arg.message', run: steering('steer') },
  {
    name: 'interrupt',
    summary: 'command.interrupt',
    argument: 'arg.message',
    run: steering('interrupt'),
  },
  { name: 'btw', summary: 'command.btw', argument: 'arg.message', run: steering('btw') },
  {
    name: 'background',
    aliases: ['bg'],
    summary: 'command.background',
    argument: 'arg.message',
    run: steering('background'),
  },
  { name: 'yolo', summary: 'command.yolo', run: steering('yolo') },
  {
    name: 'compact',
    aliases: ['compress'],
    summary: 'command.compact',
    argument: 'arg.topic',
    run: compact,
  },
  {
    name: 'branch',
    aliases: ['fork'],
    summary: 'command.branch',
    run: inSession((app, id) => app.branch(id)),
  },
  {
    name: 'skills',
    summary: 'command.skills',
    argument: 'arg.query',
    run: silent((app, query) => app.route.go({ view: 'skills', skill: null, query })),
  },
  {
    name: 'tools',
    aliases: ['toolsets'],
    summary: 'command.tools',
    run: silent(app => app.route.go({ view: 'settings', section: 'tools' })),
  },
  {
    name: 'insights',
    summary: 'command.insights',
    argument: 'arg.days',
    run: silent((app, days) =>
      app.route.go({ view: 'usage', days: USAGE_DAYS.find(count => `${count}` === days) ?? 30 }),
    ),
  },
  {
    name: 'export',
    summary: 'command.export',
    argument: 'arg.export',
    run: inSession((app, id, argument) => {
      const format = FORMATS.find(one => one === (argument.toLowerCase() || 'md'))
      if (!format) return t('said.export.format')
      app.exportAs(id, format)
      return undefined
    }),
  },
]

/** `/name argument` → the command; null for text that is none, so that it goes to the agent. */
export const parseCommand = (text: string): { command: Command; argument: string } | null => {
  const match = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim())
  const wanted = match?.[1]?.toLowerCase()
  const command = commands.find(
    ({ name, aliases = [] }) => name === wanted || aliases.some(alias => alias === wanted),
  )
  return command ? { command, argument: match?.[2]?.trim() ?? '' } : null
}
