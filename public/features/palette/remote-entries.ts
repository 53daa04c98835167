/** What the palette asks the server for: once when it opens, and for each query. */
import type { App } from '../../app.ts'
import { may } from '../../parts/may.ts'
import { sessionTitle } from '../sessions/sessions.ts'
import type { SearchHit } from '../sessions/search.ts'
import type { PaletteEntry } from './search-palette.ts'
import { t } from './strings.ts'

const MAX_CHATS = 10
const MAX_FILES = 8
const MAX_HINT_CHARS = 120

/** Tasks, skills, subagents, notes and profiles: few enough to be fetched at once. A part that fails is left out. */
export const loadEntries = async (app: App): Promise<PaletteEntry[]> => {
  const { api, route } = app.shell
  const profiles = app.profiles
  const [tasks, skills, subagents, memory] = await Promise.all([
    api('GET /api/crons').catch(() => null),
    api('GET /api/skills', {}).catch(() => null),
    api('GET /api/own-files', { kind: 'subagent' }).catch(() => null),
    may('GET /api/memory') ? api('GET /api/memory').catch(() => null) : null,
    profiles.refresh().catch(() => null),
  ])
  return [
    ...(tasks?.jobs ?? []).map(
      (job): PaletteEntry => ({
        id: `task:${job.id}`,
        section: t('palette.tasks'),
        icon: 'clock',
        label: job.name,
        hint: t('palette.task'),
        words: job.prompt.slice(0, 200),
        searchOnly: true,
        run: () => route.go({ view: 'tasks', task: job.id }),
      }),
    ),
    ...(skills?.skills ?? []).map(
      (skill): PaletteEntry => ({
        id: `skill:${skill.name}`,
        section: t('palette.skills'),
        icon: 'skill',
        label: skill.name,
        hint: skill.description,
        words: skill.description,
        searchOnly: true,
        run: () => route.go({ view: 'skills', skill: skill.name, query: '' }),
      }),
    ),
    ...(subagents?.files ?? []).map(
      ({ name, called, description }): PaletteEntry => ({
        id: `subagent:${name}`,
        section: t('palette.subagents'),
        icon: 'user',
        label: called,
        hint: t('palette.subagent'),
        words: description,
        searchOnly: true,
        run: () => route.go({ view: 'skills', tab: 'subagents', skill: name, query: '' }),
      }),
    ),
    ...(may('GET /api/memory') ? (['memory', 'user', 'soul'] as const) : []).map(
      (name): PaletteEntry => ({
        id: `memory:${name}`,
        section: t('palette.memory'),
        icon: 'brain',
        label: t(`palette.memory.${name}`),
        words: memory?.[name] ?? '',
        searchOnly: true,
        run: () => route.go({ view: 'memory' }),
      }),
    ),
    ...profiles.list.value
      .filter(({ name }) => name !== profiles.active.value)
      .map(
        ({ name }): PaletteEntry => ({
          id: `profile:${name}`,
          section: t('palette.profiles'),
          icon: 'user',
          label: name,
          hint: t('palette.profile'),
          searchOnly: true,
          run: () => app.profiles.switchTo(name),
        }),
      ),
  ]
}

const findChats = async (app: App, q: string, signal: AbortSignal): Promise<PaletteEntry[]> => {
  const profile = app.profiles.active.value
  const input = { q, content: '1', limit: MAX_CHATS, ...(profile ? { profile } : {}) }
  const { sessions, more } = await app.shell.api('GET /api/sessions/search', input, { signal })
  const entries: PaletteEntry[] = (sessions as unknown as SearchHit[]).map(hit => ({
    id: `chat:${hit.session_id}`,
    section: t('palette.found'),
    label: sessionTitle(hit),
    hint:
      hit.match_type === 'content'
        ? (hit.snippet ?? [])
            .map(({ text }) => text)
            .join('')
            .slice(0, MAX_HINT_CHARS)
        : '',
    run: () => app.shell.route.openSession(hit.session_id),
    runAside: () => app.shell.route.openBeside(hit.session_id),
  }))
  const all: PaletteEntry = {
    id: 'chats:all',
    section: t('palette.found'),
    icon: 'search',
    label: t('palette.found.all', { query: q }),
    run() {
      app.sidebar.search.set(q)
      app.shell.layout.focusSearch()
    },
  }
  return more ? [...entries, all] : entries
}

const findFiles = async (app: App, q: string, signal: AbortSignal): Promise<PaletteEntry[]> => {
  const id = app.shell.route.sessionId.value
  if (!id) return []
  const input = { session_id: id, q, limit: MAX_FILES }
  const { files } = await app.shell.api('GET /api/files/search', input, { signal })
  return files.map(({ path, type, ranges }) => ({
    id: `file:${path}`,
    section: t('palette.files'),
    icon: type === 'dir' ? 'folder' : 'file',
    label: path,
    ranges,
    run() {
      app.shell.route.backToChat()
      app.panel.openTarget({ path, line: null })
    },
  }))
}

/** Fails only when both searches fail. */
export const searchServer = async (
  app: App,
  q: string,
  signal: AbortSignal,
): Promise<PaletteEntry[]> => {
  const results = await Promise.allSettled([findFiles(app, q, signal), findChats(app, q, signal)])
  if (results.every(one => one.status === 'rejected'))
    throw (results[0] as PromiseRejectedResult).reason
  return results.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
}
