/** What the tests about files share: a service with a session in a workspace full of awkward names. */
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AppOptions, startApp, type TestApp } from '../_app.ts'

export const HOSTILE_NAMES = [
  'new\nline.txt',
  'quote"and\'quote.txt',
  '-rf',
  '--help',
  'ünïcödé 日本.txt',
  'rtl\u202etxt.exe',
  ' leading and trailing ',
  'back\\slash.txt',
  'semi;colon & amp.txt',
  '%2e%2e%2f.txt',
  '*.txt',
  ':(glob)x',
  '$(touch pwned)',
  'tab\there',
  '#hash?query',
  '.hidden',
]

export type Desk = {
  app: TestApp
  /** The workspace, and the id of the session that works in it. */
  root: string
  id: string
  query(params: Record<string, string>): string
}

export const openDesk = async (options: AppOptions = {}): Promise<Desk> =>
  addDesk(await startApp(options), 'project')

/** One more workspace and session in the same service: starting one takes its time. */
export const addDesk = async (app: TestApp, name: string): Promise<Desk> => {
  const root = join(app.userHome, name)
  mkdirSync(join(root, 'src'), { recursive: true })
  writeFileSync(join(root, 'README.md'), 'hello\nworld\n')
  writeFileSync(join(root, 'src', 'main.ts'), 'export {}\n')
  writeFileSync(join(app.userHome, 'secret.txt'), 'OUTSIDE')
  symlinkSync('../secret.txt', join(root, 'away.txt'))
  symlinkSync('..', join(root, 'up'))
  symlinkSync('src/main.ts', join(root, 'alias.ts'))
  const id = (await app.post('/api/session/new', { workspace: root })).body.session.session_id
  const query = (params: Record<string, string>) =>
    new URLSearchParams({ session_id: id, ...params }).toString()
  return { app, root, id, query }
}

export const namesIn = (dir: string): string[] => readdirSync(dir).sort()

/** Paths that every file endpoint must reject. */
export const ESCAPES = [
  '..',
  '../secret.txt',
  '../../secret.txt',
  'src/../../secret.txt',
  './../secret.txt',
  '/etc/passwd',
  '//etc/passwd',
  'away.txt',
  'up/secret.txt',
  'up',
  'README.md\0',
  '\0',
  '..%2fsecret.txt',
  '%2e%2e/secret.txt',
  '..\\secret.txt',
  'C:\\Windows\\win.ini',
  '\\\\server\\share',
  '~/secret.txt',
  'x'.repeat(5_000),
  'a/'.repeat(3_000),
  `${'../'.repeat(50)}etc/passwd`,
]
