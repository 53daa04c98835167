/**
 * The list of someone's cells, through a real forwarder, with workers and PostgreSQL as processes, in a browser: what waits in
 * all of them is answered there, once, by those who may, also after a kill and in a cell that has to be started.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { VISITOR_HEADER } from '../../../lib/base/page-headers.ts'
import { closeBrowser, openPage, type TestPage } from '../../_browser.ts'
import type { Recorded, Step } from '../../_provider.ts'
import { ended, until } from '../../_wait.ts'
import {
  add,
  answersOf,
  as,
  cellDir,
  directory,
  pidOf,
  provider,
  rowOf,
  startForwarder,
  startWorker,
  useModel,
  type Worker,
  workersSuite,
} from './_workers.ts'

const proof = workersSuite('workers: the list')
const PASSWORD = 'correct horse'

type Client = ReturnType<typeof as>

const call = (name: string, args: Record<string, unknown>): Step => ({
  toolCalls: [{ id: 'c1', name, arguments: args }],
})

/** What the model does is written in the message: a command that needs an approval, or a question. */
const stepOf = ({ messages }: Recorded['body']): Step => {
  const { role, content } = messages.at(-1) ?? {}
  const [, verb, rest = ''] = /^(run|ask|plan) (.*)$/m.exec(String(content)) ?? []
  if (role !== 'user' || verb === undefined) return { text: 'The end.' }
  if (verb === 'plan') return call('exit_plan_mode', { plan: rest })
  return verb === 'run'
    ? call('terminal', { command: rest })
    : call('clarify', { question: rest, choices: ['Red', 'Blue'] })
}

/** A chat of the cell in which the agent has begun with that. `prefix`: `/cells/…`, or empty for the only one. */
const begin = async (client: Client, prefix: string, title: string, message: string) => {
  const made = { id: '' }
  // A cell that ends because nothing happens may refuse until the next request starts it; nothing else may.
  await until(async () => {
    const { status, body, text } = await client.post(`${prefix}/api/session/new`, {})
    if (status === 503) return false
    assert.is(status, 200, text)
    made.id = body.session.session_id
    return true
  }, 'a new chat')
  const { id } = made
  await client.post(`${prefix}/api/session/rename`, { session_id: id, title })
  const started = await client.post(`${prefix}/api/chat/start`, { session_id: id, message })
  assert.is(started.status, 200, started.text)
  return id
}

const questionsIn = async (client: Client, prefix: string) =>
  (await client.get(`${prefix}/api/inbox`)).body.questions as {
    approval_id: string
    session_id: string
  }[]

/** Started by the worker itself. */
const startedPid = async (worker: Worker, cell: string): Promise<number> => {
  await until(async () => (await rowOf(cell)).address !== null, 'the owner')
  return pidOf(worker, cell)
}

const openList = (url: string, person: string, given = {}): Promise<TestPage> =>
  openPage(`${url}/cells/`, { extraHTTPHeaders: { 'Remote-User': person }, ...given })

const entry = ({ page }: TestPage, title: string) =>
  page.locator('li.item', { has: page.getByRole('link', { name: title, exact: true }) })

const shoot = async ({ page }: TestPage, name: string): Promise<void> => {
  if (!process.env.SHOTS) return
  for (const [width, colorScheme] of [
    [390, 'dark'],
    [390, 'light'],
    [1440, 'dark'],
    [1440, 'light'],
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    const path = `${process.env.SHOTS}/${name}-${width}-${colorScheme}.png`
    await page.screenshot({ path, fullPage: true })
  }
}

/** Anna has a cell of her own, and one with Ben. */
const startAll = async (env: Record<string, string> = {}): Promise<Worker> => {
  await add('anna')
  await add('team', { people: ['anna', 'ben'] })
  const worker = await startWorker('one', env)
  provider.otherwise = stepOf
  return worker
}

const useModels = (worker: Worker): void => {
  useModel(worker, 'anna')
  useModel(worker, 'team')
}

proof.after(closeBrowser)

proof(
  'refusals: the cell of another person, another site, a forged person, a page of someone else, a viewer',
  async () => {
    const worker = await startAll()
    await add('carl')
    const forwarder = await startForwarder()
    const [anna, ben, carl] = ['anna', 'ben', 'carl'].map(name => as(name, forwarder)) as [
      Client,
      Client,
      Client,
    ]
    await anna.get('/cells/team/api/sessions')
    useModel(worker, 'team')
    const id = await begin(anna, '/cells/team', 'Tidy', 'run rm -rf none')
    await until(async () => (await questionsIn(anna, '/cells/team')).length === 1)
    const [{ approval_id } = { approval_id: '' }] = await questionsIn(anna, '/cells/team')
    const answer = { session_id: id, approval_id, choice: 'once' }
    const path = '/cells/team/api/approval/respond'
    const statuses = [
      (await carl.post(path, answer)).status,
      (await carl.get('/cells/team/api/inbox')).status,
      (await as(null, forwarder).post(path, answer)).status,
      (await anna.post(path, answer, { headers: { Origin: 'https://evil.example' } })).status,
      (await anna.post(path, answer, { headers: { 'Sec-Fetch-Site': 'cross-site' } })).status,
      // Made for Ben, who has signed out in this browser since.
      (await anna.post(path, answer, { headers: { [VISITOR_HEADER]: 'ben' } })).status,
      (await anna.get('/forward/cells', { headers: { [VISITOR_HEADER]: 'ben' } })).status,
    ]
    assert.equal(statuses, [403, 403, 401, 403, 403, 409, 409])
    const strict = await startForwarder({ AGENT_WEBUI_TRUSTED_PROXIES: '192.0.2.1' })
    assert.is((await as('anna', strict).post(path, answer)).status, 400)

    // Ben may only read from now on.
    const set = await anna.post('/cells/team/api/settings', { _set_password: PASSWORD })
    assert.is(set.status, 200, set.text)
    const cookie = String(set.headers['set-cookie']?.[0]).split(';')[0] ?? ''
    const owner = { id: 'first', name: 'Anna', role: 'owner', profiles: null }
    const viewer = { id: 'ben', name: 'Ben', role: 'viewer', profiles: ['default'] }
    const people = [owner, { ...viewer, sign_in_as: 'ben' }]
    const none = { passkeys: [], totp: null }
    writeFileSync(
      join(cellDir(worker, 'team'), 'state', 'people.json'),
      JSON.stringify({ version: 1, people: people.map(each => ({ ...none, ...each })) }),
    )
    await until(async () => (await ben.get('/cells/team/api/inbox')).status === 200)
    assert.is((await ben.post(path, answer)).status, 403)
    const bens = await openList(forwarder.url, 'ben')
    await entry(bens, 'Tidy').getByText('rm -rf none').waitFor()
    assert.is(await entry(bens, 'Tidy').getByRole('button').count(), 0)
    assert.equal(bens.problems, [])
    // Anna was signed in by nothing but the header, which the cell does not know.
    const annas = await openList(forwarder.url, 'anna')
    await annas.page.getByRole('link', { name: 'Sign in there to see what it does' }).waitFor()
    assert.is(await annas.page.getByText('rm -rf none').count(), 0)
    const open = await anna.get('/cells/team/api/inbox', { headers: { cookie } })
    assert.is(open.body.questions.length, 1, 'none of them answered it')
    await bens.close()
    await annas.close()
  },
)

proof('what waits in all cells is answered in the list, once, from two browsers', async () => {
  const worker = await startAll()
  const forwarder = await startForwarder()
  const anna = as('anna', forwarder)
  await anna.get('/api/sessions')
  await anna.get('/cells/team/api/sessions')
  useModels(worker)
  const own = await begin(anna, '/cells/anna', 'Paint', 'ask Which color?')
  const shared = await begin(anna, '/cells/team', 'Tidy', 'run rm -rf none')
  const [annas, bens] = [
    await openList(forwarder.url, 'anna'),
    await openList(forwarder.url, 'ben'),
  ]
  await entry(annas, 'Paint').getByText('Which color?').waitFor()
  await entry(annas, 'Tidy').getByText('rm -rf none').waitFor()
  await entry(bens, 'Tidy').getByRole('button', { name: 'Allow once' }).waitFor()
  assert.is(await bens.page.getByText('Which color?').count(), 0, 'of another cell')
  assert.is(
    await annas.page.getByRole('link', { name: 'Tidy', exact: true }).first().getAttribute('href'),
    `cells/team/session/${shared}`,
  )
  assert.match(await entry(annas, 'Tidy').first().innerText(), /team\s+Waiting for \d/)
  assert.equal(await annas.axe(), [])
  await shoot(annas, 'list')
  await entry(bens, 'Tidy').getByRole('button', { name: 'Deny' }).click()
  await annas.page.getByText('rm -rf none').waitFor({ state: 'detached' })
  await entry(annas, 'Paint').getByRole('button', { name: 'Blue' }).click()
  await annas.page.getByText('Which color?').waitFor({ state: 'detached' })
  assert.equal((await answersOf(as('ben', forwarder), shared)).at(-1), 'The end.')
  const { messages } = (await anna.get(`/api/session?session_id=${own}`)).body.session
  assert.match(JSON.stringify(messages), /Blue/)
  assert.equal([annas.problems, bens.problems], [[], []])
  // From the inbox of one cell to that of all.
  await annas.page.goto(`${forwarder.url}/cells/team/inbox`)
  await annas.page.getByRole('link', { name: 'What waits in all of your agents' }).click()
  await annas.page.getByRole('heading', { name: 'Your agents' }).waitFor()
  await annas.close()
  await bens.close()
})

proof(
  'an answer that comes second says which one counted; a killed cell keeps its question',
  async () => {
    const worker = await startAll()
    const forwarder = await startForwarder()
    const anna = as('anna', forwarder)
    await anna.get('/cells/team/api/sessions')
    useModel(worker, 'team')
    await begin(anna, '/cells/team', 'Tidy', 'run rm -rf none')
    const annas = await openList(forwarder.url, 'anna', { colorScheme: 'light' })
    const deny = entry(annas, 'Tidy').getByRole('button', { name: 'Deny' })
    await deny.waitFor()
    const killed = pidOf(worker, 'team')
    process.kill(killed, 'SIGKILL')
    await ended(killed)
    await until(async () => (await anna.get('/cells/team/api/inbox')).body.questions?.length === 1)
    assert.is.not(pidOf(worker, 'team'), killed)
    const [question] = await questionsIn(anna, '/cells/team')
    // The page sends the answer after another one was given.
    await annas.page.route('**/api/approval/respond', async route => {
      await anna.post('/cells/team/api/approval/respond', { ...question, choice: 'once' })
      await route.continue()
    })
    await deny.click()
    await annas.page.getByText('Already answered: Allowed once').waitFor()
    await deny.waitFor({ state: 'detached' })
    await annas.close()
  },
)

proof(
  'a cell without anything to do sleeps while its list is open; one whose question waits is started for it',
  async () => {
    const worker = await startAll({ AGENT_WEBUI_CLUSTER_IDLE: '0.02' })
    const forwarder = await startForwarder()
    const anna = as('anna', forwarder)
    await anna.get('/api/sessions')
    await anna.get('/cells/team/api/sessions')
    useModels(worker)
    const annas = await openList(forwarder.url, 'anna')
    await begin(anna, '/cells/team', 'Tidy', 'run rm -rf none')
    await entry(annas, 'Tidy').getByRole('button', { name: 'Allow once' }).waitFor()
    await until(async () => (await rowOf('anna')).is_released === true, 'the end of the idle cell')
    assert.is((await rowOf('team')).is_released, false)
    // A deploy: the turn is parked with its question, and its cell is served by no one.
    worker.program.child.kill('SIGTERM')
    assert.is(await worker.program.exited, 0)
    assert.equal([(await rowOf('team')).is_released, (await rowOf('team')).waiting], [true, 1])
    await annas.page.getByText('Not up to date').waitFor()
    await shoot(annas, 'down')
    await startWorker('one', { AGENT_WEBUI_CLUSTER_IDLE: '0.02' }, worker.dir)
    await annas.page.getByText('Not up to date').waitFor({ state: 'detached' })
    await entry(annas, 'Tidy').getByRole('button', { name: 'Allow once' }).click()
    await entry(annas, 'Tidy').first().waitFor({ state: 'detached' })
    await until(async () => (await rowOf('team')).is_released === true, 'both sleep')
    assert.is((await rowOf('anna')).is_released, true)
    await annas.close()
  },
)

proof(
  'a plan that waits outlives its turn at a deploy, and its cell stays awake for it',
  async () => {
    const idle = { AGENT_WEBUI_CLUSTER_IDLE: '0.02' }
    const worker = await startAll(idle)
    const forwarder = await startForwarder()
    const anna = as('anna', forwarder)
    const { body } = await anna.post('/api/session/new', {})
    const id: string = body.session.session_id
    useModel(worker, 'anna')
    await anna.post('/api/session/mode', { session_id: id, mode: 'plan' })
    await anna.post('/api/chat/start', { session_id: id, message: 'plan Paint it blue.' })
    await until(async () => (await questionsIn(anna, '')).length === 1, 'the plan')
    worker.program.child.kill('SIGTERM')
    assert.is(await worker.program.exited, 0)
    const again = await startWorker('one', idle, worker.dir)
    const pid = await startedPid(again, 'anna')
    const annas = await openList(forwarder.url, 'anna')
    await annas.page.getByText('Paint it blue.', { exact: true }).waitFor()
    const { epoch } = await rowOf('anna')
    // Longer than it takes to find out that there is nothing to do.
    await as('anna', forwarder).get('/cells/team/api/sessions')
    await until(async () => (await rowOf('team')).is_released === true, 'the end of another cell')
    assert.equal([(await rowOf('anna')).epoch, pidOf(again, 'anna')], [epoch, pid])
    await annas.close()
  },
)

proof(
  'a running turn says what it does, and a person who lost the cell sees nothing of it',
  async () => {
    const worker = await startAll()
    const forwarder = await startForwarder()
    const ben = as('ben', forwarder)
    await ben.get('/api/sessions')
    useModel(worker, 'team')
    const gate = Promise.withResolvers<void>()
    provider.otherwise = () => ({ text: 'The end.', gate: gate.promise })
    const id = await begin(ben, '', 'Think', 'go')
    const bens = await openList(forwarder.url, 'ben')
    await entry(bens, 'Think').getByText('Thinking').waitFor()
    assert.is(
      await bens.page.getByRole('link', { name: 'Think', exact: true }).getAttribute('href'),
      `cells/team/session/${id}`,
    )
    await directory.revoke('team', ['ben'])
    await bens.page.locator('li').first().waitFor({ state: 'detached' })
    await bens.page.getByText('There is nothing here for this account').waitFor()
    assert.is(await bens.page.getByText('Think').count(), 0)
    gate.resolve()
    await bens.close()
  },
)

proof.run()
