/** What may be killed at any step, as `<what> <user's home> <file>`; `print` says what a start finds. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { App } from '../../../lib/app/app.ts'
import { rowsOf } from '../../../lib/sessions/listing.ts'
import { restoreBackup } from '../../../lib/operations/backups/restore.ts'
import { readConfig } from '../../../lib/config.ts'
import { createLog } from '../../../lib/operations/log.ts'
import { InstanceLock } from '../../../lib/store/instance-lock.ts'

const [what = '', userHome = '', file = ''] = process.argv.slice(2)
const { PATH, AGENT_WEBUI_STATE_DIR } = process.env
const config = readConfig(
  {
    HOME: userHome,
    ...(PATH !== undefined && { PATH }),
    ...(AGENT_WEBUI_STATE_DIR !== undefined && { AGENT_WEBUI_STATE_DIR }),
  },
  ['--no-browser'],
)
const { baseHome, stateDir } = config

const open = async () => {
  const lock = new InstanceLock(stateDir, { pid: process.pid, address: '', started_at: 0 })
  const app = await App.open(config, createLog({ out: () => undefined }), {
    assets: () => Promise.reject(new Error('no pages')),
    checkout: null,
    version: 'proof',
    isConfigTrusted: true,
    passwordIterations: 10,
    parkMs: 0,
  })
  const rows = () => rowsOf(app.sessions.list().body)
  return {
    app,
    rows,
    async close() {
      await app.close()
      lock.release()
    },
  }
}

/** The first changes of an installation that another version, or Hermes WebUI, left. */
const change = async () => {
  const { app, rows, close } = await open()
  for (const { session_id } of rows()) {
    const composer_draft = { text: `a draft of ${session_id}`, files: [] }
    app.sessions.append(session_id, [{ t: 'meta', patch: { composer_draft } }])
    app.sessions.append(session_id, [{ t: 'message', message: { role: 'user', content: 'More.' } }])
  }
  app.settings.save({ bot_name: 'Changed' })
  app.projects.create({ name: 'New', color: null })
  await close()
}

const print = async () => {
  const { app, rows, close } = await open()
  const sessions = rows()
    .map(({ session_id, title, workspace, pinned, project_id }) => {
      const { messages, meta } = app.sessions.load(session_id)
      return {
        ...{ session_id, title, workspace, pinned, project_id },
        draft: meta.composer_draft?.text ?? '',
        messages: messages.map(({ role, content }) => [role, content]),
      }
    })
    .toSorted((a, b) => a.session_id.localeCompare(b.session_id))
  const { bot_name, theme, default_workspace } = app.settings.get()
  const jobs = join(baseHome, 'cron', 'jobs.json')
  const { workspaces, homes, projects } = app
  const found = {
    sessions,
    settings: { bot_name, theme, default_workspace },
    projects: projects.list().map(({ name }) => name),
    workspaces: workspaces.list(homes.base),
    last: workspaces.last(homes.base),
    jobs: JSON.parse(readFileSync(jobs, 'utf8')),
    checkpoints: readdirSync(join(baseHome, 'checkpoints')).toSorted(),
    env: readFileSync(join(baseHome, '.env'), 'utf8'),
  }
  await close()
  process.stdout.write(JSON.stringify(found))
}

const restore = () =>
  restoreBackup({ file, home: baseHome, state: stateDir, passphrase: async () => 'a passphrase' })

const PROGRAMS: Readonly<Record<string, () => Promise<unknown>>> = { change, print, restore }

try {
  await PROGRAMS[what]?.()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
