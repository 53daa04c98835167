/** The services that `contract.test.ts` asks, each with what its requests name. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApp, type TestApp, tokenHeaders } from './_app.ts'
import { CANARY } from './_hostile.ts'
import { PASSWORD, setPerson, signIn } from './_people.ts'
import type { Scripted } from './_provider.ts'

/** What a GET is asked with: a field of its input has the same meaning in each. `session_id` and `workspace` are added. */
const READ = { path: '.', provider: 'openai', name: 'x', q: 'hello', prefix: '' }

type Headers = { headers: { cookie: string } }

/** Without a password; with config.yaml as it should be, and as a file that cannot be read. */
export type Reader = { app: TestApp; read: Record<string, string>; token: Record<string, string> }
/** With a password and people. `things` belong to a profile that the outsider was not given. */
export type Locked = {
  app: TestApp
  as: Record<'owner' | 'member' | 'viewer' | 'outsider', Headers>
  things: Record<string, string>
}
/** Meets whatever a client may send. */
export type Attacked = { app: TestApp; known: Record<string, unknown> }
export type World = {
  provider: Scripted
  sound: Reader
  broken: Reader
  locked: Locked
  attacked: Attacked
}

export const startReader = async (): Promise<Reader> => {
  const app = await startApp()
  const messages = [{ role: 'user', content: 'hello' }]
  const made = await app.post('/api/session/import', { title: 'Talk', messages })
  const { session_id, workspace } = made.body.session
  return { app, read: { ...READ, session_id, workspace }, token: await tokenHeaders(app) }
}

export const startBroken = async (): Promise<Reader> => {
  const reader = await startReader()
  await reader.app.restart(() =>
    writeFileSync(join(reader.app.home, 'config.yaml'), 'model: {broken\n'),
  )
  return reader
}

export const startLocked = async (): Promise<Locked> => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['team'] })
  await setPerson(app, { name: 'Vera', role: 'viewer', profiles: ['team'] })
  await setPerson(app, { name: 'Otto', role: 'member', profiles: ['other'] })
  const owner = await signIn(app)
  for (const name of ['team', 'other']) await app.post('/api/profile/create', { name }, owner)
  const session_id = await newSession(app, owner)
  const message = { session_id, message: 'hello' }
  const { stream_id } = (await app.post('/api/chat/start', message, owner)).body
  const as = {
    owner,
    member: await signIn(app, 'Mia'),
    viewer: await signIn(app, 'Vera'),
    outsider: await signIn(app, 'Otto'),
  }
  return { app, as, things: { session_id, stream_id, profile: 'team' } }
}

export const newSession = async (app: TestApp, owner: Headers): Promise<string> =>
  (await app.post('/api/session/new', { profile: 'team' }, owner)).body.session.session_id

export const startAttacked = async ({ url }: Scripted): Promise<Attacked> => {
  // 503 and unexpected errors are looked at here, answer by answer.
  const app = await startApp({ allowErrors: true })
  writeFileSync(join(app.home, 'secret.txt'), CANARY)
  // The built-in demo would take its time for each reply.
  const model = `model: {provider: custom, base_url: '${url}', default: test-model}\n`
  writeFileSync(join(app.home, 'config.yaml'), model)
  const workspace = join(app.userHome, 'workspace')
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'inside.txt'), 'inside')
  symlinkSync('/etc', join(workspace, 'escape-link'))
  await app.post('/api/workspaces/add', { path: workspace })
  const { session } = (await app.post('/api/session/new', { workspace })).body
  const texts = { path: 'inside.txt', message: 'hello', name: 'thing', content: 'text' }
  return { app, known: { ...texts, session_id: session.session_id, workspace } }
}
