/** People for tests: written into people.json, and signed in. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PasswordHasher } from '../lib/people/passwords.ts'
import { openSigningKey } from '../lib/people/signing-key.ts'
import type { Role } from '../lib/schema/person.ts'
import { PASSWORD_ITERATIONS, type TestApp } from './_app.ts'

export const PASSWORD = 'correct horse'

const owner = { id: 'first', name: 'Olga', role: 'owner', profiles: null, passkeys: [], totp: null }

type Given = { name: string; role: Role; profiles?: string[] }

const fileOf = (app: TestApp) => join(app.state, 'people.json')

export const peopleIn = (app: TestApp): Record<string, unknown>[] =>
  existsSync(fileOf(app)) ? JSON.parse(readFileSync(fileOf(app), 'utf8')).people : [owner]

/** Replaces what a person may do, or adds the person with their name as password. */
export const setPerson = async (app: TestApp, { name, role, profiles = [] }: Given) => {
  const id = name.toLowerCase()
  const hasher = new PasswordHasher(openSigningKey(app.state), PASSWORD_ITERATIONS)
  const password = await hasher.hash(`${id}:${name} password`)
  const person = { id, name, role, profiles, password, passkeys: [], totp: null }
  const people = [...peopleIn(app).filter(each => each.id !== id), person]
  writeFileSync(fileOf(app), JSON.stringify({ version: 1, people }))
}

export const removePerson = (app: TestApp, name: string): void => {
  const people = peopleIn(app).filter(each => each.name !== name)
  writeFileSync(fileOf(app), JSON.stringify({ version: 1, people }))
}

/** Headers of a signed-in browser; without a name, of the first owner. */
export const signIn = async (
  app: Pick<TestApp, 'post'>,
  name = '',
): Promise<{ headers: { cookie: string } }> => {
  const password = name === '' ? PASSWORD : `${name} password`
  const { status, headers, text } = await app.post('/api/auth/login', { name, password })
  if (status !== 200) throw new Error(`${name || 'the owner'} could not sign in: ${text}`)
  return { headers: { cookie: (headers['set-cookie']?.[0] ?? '').split(';')[0]! } }
}
