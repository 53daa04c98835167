/** The pages of `agent-webui forward`, with a real PostgreSQL, and services that only say who they are. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { LANGUAGES } from '../../../lib/base/languages.ts'
import { forward } from '../../../lib/cli/forward.ts'
import { Directory } from '../../../lib/cluster/directory.ts'
import { readConfig } from '../../../lib/config.ts'
import { createLog } from '../../../lib/operations/log.ts'
import { closeBrowser, openPage } from '../../_browser.ts'
import { findPostgres, type Postgres, startPostgres } from '../../_postgres.ts'
import { until } from '../../_wait.ts'

const test = suite('cli/forward')
const HTML = { Accept: 'text/html,application/xhtml+xml' }
let db: Postgres
let directory: Directory
const servers: Server[] = []
const stops: (() => Promise<unknown>)[] = []

const startForwarder = async (env: Record<string, string> = {}): Promise<string> => {
  let out = ''
  let stop = () => {}
  const config = readConfig(
    {
      HOME: '/tmp',
      AGENT_WEBUI_PORT: '0',
      AGENT_WEBUI_CLUSTER_URL: db.url,
      AGENT_WEBUI_AUTH_HEADER: 'Remote-User',
      AGENT_WEBUI_TRUSTED_PROXIES: '127.0.0.1',
      ...env,
    },
    [],
  )
  const collect = (text: string) => {
    out += text
  }
  const running = forward(config, {
    version: 'test',
    onInterrupt(interrupt) {
      stop = () => interrupt(0)
      return () => undefined
    },
    log: createLog({ out: collect, err: collect }),
  })
  const addressIn = () => /forwards at (\S+)\//.exec(out)?.[1]
  await until(() => addressIn() !== undefined)
  stops.push(() => {
    stop()
    return running
  })
  return addressIn() ?? ''
}

/** A service that answers with the cell that was asked for. */
const sayCell = () =>
  createServer((req, res) => {
    res.setHeader('Content-Type', 'text/html')
    res.end(`<title>${req.headers['x-agent-webui-cell']}</title>${req.url}`)
  })

const serve = async (cell: string, server = sayCell()): Promise<void> => {
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await db.query(
    `update agent_webui.cell set is_released = false, epoch = 1, seen = clock_timestamp() + interval '1 hour', address = $2 where name = $1`,
    [cell, `http://127.0.0.1:${(server.address() as AddressInfo).port}`],
  )
}

const IDLE = { running: 0, waiting: 0, active_at: null }

const get = async (url: string, headers: Record<string, string> = {}) => {
  const res = await fetch(url, { headers, redirect: 'manual' })
  const text = await res.text()
  return { status: res.status, text, headers: res.headers }
}
const add = (cell: string, people: string[], title = '') =>
  directory.add(cell, { title, labels: [], people })
const cellsIn = (text: string) =>
  JSON.parse((/data-cells="([^"]*)"/.exec(text)?.[1] ?? '').replaceAll('&quot;', '"') || 'null')

const skipped = findPostgres() === null

test.before(async () => {
  if (skipped) return
  db = await startPostgres()
  directory = new Directory(db.url)
  await add('anna@example.com', ['anna@example.com'])
  await add('team', ['anna@example.com', 'ben'], 'Our <team>')
  await serve('team')
})
test.after.each(async () => {
  for (const stop of stops.splice(0)) await stop()
})
test.after(async () => {
  await closeBrowser()
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  if (skipped) return
  directory.close()
  await db.close()
})

if (skipped) test.skip('there is no PostgreSQL for this platform', () => undefined)
else {
  test('while responses are open, a forwarder that stops says so, and still passes requests on', async () => {
    const held: ServerResponse[] = []
    const server = createServer((req, res) => {
      res.writeHead(200)
      if (req.url?.endsWith('/held')) held.push(res)
      else res.end('passed')
      res.flushHeaders()
    })
    await add('held', ['dora'])
    await serve('held', server)
    const url = await startForwarder()
    const health = () => get(`${url}/forward/health`)
    assert.is((await health()).status, 200)
    const open = await fetch(`${url}/held`, { headers: { 'Remote-User': 'dora' } })
    const stopped = stops.pop()?.()
    await until(async () => (await health()).status === 503, 'stopping')
    assert.match((await health()).text, '"status":"stopping"')
    assert.is((await get(`${url}/other`, { 'Remote-User': 'dora' })).text, 'passed')
    held[0]?.end('complete')
    assert.is(await open.text(), 'complete')
    assert.is(await stopped, 0)
  })

  test('a browser gets a sentence in its language, a program JSON: no header, and no cell', async () => {
    const url = await startForwarder()
    for (const [headers, status, pattern] of [
      [{}, 401, /You aren’t signed in/],
      [{ 'Remote-User': 'carl' }, 403, /nothing here for this account/],
      [{ 'Remote-User': 'carl', 'Accept-Language': 'de-AT' }, 403, /Für dieses Konto/],
    ] as const)
      for (const path of ['/', '/cells/', '/cells/team/', '/session/x']) {
        const page = await get(url + path, { ...HTML, ...headers })
        assert.is(page.status, status)
        assert.match(page.text, pattern)
        assert.is(cellsIn(page.text), null)
        const json = await get(url + path, headers)
        assert.is(json.status, status)
        assert.match(JSON.parse(json.text).error, /proxy did not say|nothing here/)
      }
    const listed = await get(`${url}/forward/cells`, { 'Remote-User': 'carl' })
    assert.is(listed.status, 403)
  })

  test('metrics of requests, workers, and cells, with their token only', async () => {
    const token = 'a-token-of-the-metrics'
    const url = await startForwarder({ AGENT_WEBUI_METRICS_TOKEN: token })
    for (const person of ['ben', 'ben', 'carl']) await get(`${url}/x`, { 'Remote-User': person })
    await db.query(
      `insert into agent_webui.worker (name, address, capacity, used, labels, seen)
       values ('w1', 'http://10.0.0.5:8787', 10, 1, '{}', clock_timestamp())`,
    )
    await db.query("update agent_webui.cell set worker = 'w1', left_out = 2 where name = 'team'")
    assert.is((await get(`${url}/forward/metrics`)).status, 401)
    assert.is((await get(`${url}/forward/metrics`, { Authorization: 'Bearer x' })).status, 401)
    const { status, text } = await get(`${url}/forward/metrics`, {
      Authorization: `Bearer ${token}`,
    })
    assert.is(status, 200)
    for (const line of [
      'forwarded_requests_total{result="answered"} 2',
      'forwarded_requests_total{result="refused"} 1',
      'cluster_database_up 1',
      'worker_cells{worker="w1"} 1',
      'worker_capacity_cells{worker="w1"} 10',
      'cell_epoch{cell="team",worker="w1"} 1',
      'cell_files_left_out{cell="team",worker="w1"} 2',
    ])
      assert.ok(text.includes(`\nagent_webui_${line}\n`), line)
    assert.match(text, /agent_webui_cell_commit_age_seconds\{cell="team",worker="w1"\} -?[\d.]+\n/)
    await db.query("delete from agent_webui.worker where name = 'w1'")
  })

  test('only files of the page are there without a person', async () => {
    const url = await startForwarder()
    for (const path of ['features/cells/cells.html', 'static/none.js', 'static/../index.html'])
      assert.is((await get(`${url}/forward/${path}`)).status, 401, path)
    const post = await fetch(`${url}/forward/static/none.json`, { method: 'POST' })
    assert.is(post.status, 401)
  })

  test('the list of one person is no list of another one who has signed in since', async () => {
    const url = await startForwarder()
    const given = { 'Remote-User': 'Anna@example.com', 'X-Agent-Visitor': 'anna@example.com' }
    assert.is((await get(`${url}/forward/cells`, given)).status, 200)
    const other = await get(`${url}/cells/team/api/inbox`, { ...given, 'Remote-User': 'ben' })
    assert.equal([other.status, JSON.parse(other.text).code], [409, 'other_account'])
  })

  test('who has several cells chooses; who has one is there at once', async () => {
    const url = await startForwarder()
    const anna = { ...HTML, 'Remote-User': 'Anna@example.com' }
    const start = await get(`${url}/`, anna)
    assert.equal([start.status, start.headers.get('location')], [303, '/cells/'])
    const page = await get(`${url}/cells/`, anna)
    assert.equal(cellsIn(page.text), [
      { title: 'anna@example.com', path: 'cells/anna~example.com/', is_awake: false, ...IDLE },
      { title: 'Our &lt;team&gt;', path: 'cells/team/', is_awake: true, ...IDLE },
    ])
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.is(page.headers.get('cache-control'), 'no-store')
    const chosen = await get(`${url}/cells/team/session/x`, anna)
    assert.is(chosen.text, '<title>team</title>/cells/team/session/x')
    const ben = await get(`${url}/`, { ...HTML, 'Remote-User': 'ben' })
    assert.is(ben.text, '<title>team</title>/')
    assert.is(
      (await get(`${url}/cells/anna~example.com/`, { ...HTML, 'Remote-User': 'ben' })).status,
      403,
    )
  })

  test('behind a path prefix everything stays below it', async () => {
    const url = await startForwarder()
    const anna = { ...HTML, 'Remote-User': 'anna@example.com', 'X-Forwarded-Prefix': '/agent' }
    assert.is((await get(`${url}/agent/`, anna)).headers.get('location'), '/agent/cells/')
    assert.match((await get(`${url}/agent/cells/`, anna)).text, '<base href="/agent/">')
    const chosen = await get(`${url}/agent/cells/team/x?y=1`, anna)
    assert.match(chosen.text, '/agent/cells/team/x?y=1')
  })

  test('without a header there is one cell, and no list', async () => {
    const url = await startForwarder({
      AGENT_WEBUI_AUTH_HEADER: '',
      AGENT_WEBUI_CLUSTER_CELL: 'team',
    })
    assert.is((await get(`${url}/cells/`, HTML)).text, '<title>team</title>/cells/')
    assert.is((await get(`${url}/`, HTML)).text, '<title>team</title>/')
  })

  test('the list in a browser: dark and light, narrow and wide, right to left, new cells by themselves', async () => {
    const url = await startForwarder()
    const headers = { 'Remote-User': 'anna@example.com' }
    await db.query(
      "update agent_webui.cell set running = 2, waiting = 3, active = clock_timestamp() - interval '5 hours' where name = 'team'",
    )
    for (const [width, colorScheme, locale] of [
      [1440, 'dark', 'en'],
      [390, 'light', 'de'],
      [390, 'dark', 'ar'],
    ] as const) {
      const { page, problems, axe, close } = await openPage(`${url}/`, {
        viewport: { width, height: 800 },
        colorScheme,
        locale,
        extraHTTPHeaders: headers,
      })
      await page.getByRole('link', { name: 'Our <team>' }).waitFor()
      assert.is(await page.locator('a.waiting').getAttribute('href'), 'cells/team/inbox')
      if (locale === 'en') {
        const text = await page.locator('main').innerText()
        assert.match(text, 'Running: 2 · Last activity 5 hours ago\nWaiting for you: 3')
      }
      assert.equal(await axe(), [])
      assert.equal(problems, [])
      if (process.env.SHOTS)
        await page.screenshot({ path: `${process.env.SHOTS}/${locale}-${width}.png` })
      assert.is(await page.evaluate(() => document.documentElement.scrollWidth), width)
      if (locale === 'ar') {
        await add('later', ['anna@example.com'])
        await page.getByRole('link', { name: 'later' }).waitFor()
        await directory.remove('later')
      }
      await close()
    }
  })

  test('every language has every text', async () => {
    const url = await startForwarder()
    for (const tag of Object.keys(LANGUAGES)) {
      const page = await get(`${url}/cells/`, {
        ...HTML,
        'Remote-User': 'anna@example.com',
        'Accept-Language': tag,
      })
      assert.match(page.text, `<html lang="${tag}"`)
      assert.not.match(page.text, /\{\{|\{person\}/)
      const [, file = ''] = /src="(forward\/static\/[^"]*)"/.exec(page.text) ?? []
      assert.match((await get(`${url}/${file}`)).headers.get('cache-control') ?? '', 'immutable')
      if (tag !== 'en') {
        const [, version, name] = / data-texts="(\w+) (cells)"/.exec(page.text) ?? []
        const texts = await get(`${url}/forward/static/${tag}.${name}-${version}.json`)
        assert.ok(JSON.parse(texts.text).cells['cells.since'], tag)
        assert.match(texts.headers.get('cache-control') ?? '', 'immutable')
      }
    }
  })
}

test.run()
