/** The arguments of `agent-webui cells`, and what it prints. */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { COMMANDS } from '../../../lib/cli/cli.ts'
import { CommandContext } from '../../../lib/cli/run.ts'
import { findPostgres, startPostgres } from '../../_postgres.ts'

const test = suite('cli/cells')

test('rejects what it does not know', () => {
  const rejections: [string[], RegExp][] = [
    [['delete', 'x'], /not "delete x"/],
    [['list', 'x'], /not "list x"/],
    [['add'], /needs the name of a cell/],
    [['add', 'Anna'], /small letters/],
    [['add', '../x'], /small letters/],
    [['add', 'x', '--title'], /--title needs a value/],
    [['add', 'x', '--label', 'a b'], /"a b" is not a label/],
    [['allow', 'x'], /names of people/],
    [['allow', 'x', 'anna', '--title', 't'], /"--title" is not an option/],
    [['remove', 'x', 'y'], /one cell at a time/],
    [['add', 'x', '--json'], /"--json" is not an option/],
    [['add', 'x', '--purge'], /"--purge" is not an option/],
    [['remove', 'x', '--keep'], /"--keep" is not an option/],
    [['move', 'x'], /name of one worker/],
    [['move', 'x', 'a', 'b'], /name of one worker/],
    [['change', 'x', 'anna'], /one cell at a time/],
    [['export', 'x'], /needs a directory/],
    [['export', 'x', 'a', 'b'], /needs a directory/],
    [['import', 'x'], /needs a directory/],
    [['import', 'x', '/d', '--keep'], /"--keep" is not an option/],
  ]
  for (const [argv, pattern] of rejections) assert.throws(() => COMMANDS.cells.parse(argv), pattern)
})

if (findPostgres() === null) test.skip('there is no PostgreSQL for this platform', () => undefined)
else
  test('changes what the list shows; without a database it says so', async () => {
    const db = await startPostgres()
    try {
      let out = ''
      let noted = ''
      const terminal = {
        interactive: false,
        out(text: string) {
          out += text
        },
        note(text: string) {
          noted += text
        },
        ask: async () => null,
        askHidden: async () => null,
        readAll: async () => '',
        drain: async () => undefined,
      }
      const run = async (
        line: string,
        url = db.url,
        command: { parse: typeof COMMANDS.cells.parse } = COMMANDS.cells,
      ): Promise<string> => {
        out = ''
        const env = {
          HOME: '/home/me',
          AGENT_WEBUI_CLUSTER_KEY: 'a key that is only used in this test 01',
          ...(url && { AGENT_WEBUI_CLUSTER_URL: url }),
        }
        const context = new CommandContext({ environment: env, terminal })
        await command.parse(line.split(' '))(context)
        return out
      }
      const error = await run('list', '').catch((reason: Error) => reason)
      assert.match(String(error), /needs AGENT_WEBUI_CLUSTER_URL/)
      await run('add anna@example.com')
      assert.is(noted, '')
      await run('add team anna@example.com Ben --title Research --label gpu')
      assert.is(noted, 'No worker has gpu now; the cell waits for one.\n')
      assert.is(
        await run('list'),
        'anna@example.com  sleeps  anna@example.com\nteam  Research  sleeps  anna@example.com, ben  labels: gpu\n',
      )
      await run('change team --title Development --no-labels')
      assert.match(await run('list'), /\nteam {2}Development {2}sleeps {2}anna@example.com, ben\n/)
      const refused = await run('move team nowhere').catch((reason: Error) => reason)
      assert.match(String(refused), /no worker "nowhere"/)
      await db.query(
        `insert into agent_webui.worker (name, address, capacity, used, labels, seen)
         values ('one', 'http://10.0.0.5:8787', 10, 2, '{gpu}', clock_timestamp())`,
      )
      noted = ''
      await run('change team --label gpu')
      assert.is(noted, '')
      await run('move team one')
      await db.query("update agent_webui.cell set started = clock_timestamp() where name = 'team'")
      assert.match(await run('list'), /Development {2}starts on one/)
      await run('drain one', db.url, COMMANDS.workers)
      assert.is(
        await run('list', db.url, COMMANDS.workers),
        'one  http://10.0.0.5:8787  runs 2 of 10, drains  labels: gpu\n',
      )
      await run('resume one', db.url, COMMANDS.workers)
      assert.match(await run('list --json', db.url, COMMANDS.workers), /"isDraining": false/)
      await run('revoke team ben anna@example.com')
      await run('allow anna@example.com carl')
      await run('remove team')
      assert.equal(
        JSON.parse(await run('list --json')).map(
          ({ name, isManaged, people }: Record<string, unknown>) => [name, isManaged, people],
        ),
        [
          ['anna@example.com', true, ['anna@example.com', 'carl']],
          ['team', false, []],
        ],
      )

      // A cell as a directory: taken over under another name, it has all that the first one had.
      const dir = mkdtempSync(join(tmpdir(), 'cell-'))
      const from = join(dir, 'from')
      for (const name of ['home/skills/empty', 'state/sessions', 'workspace/src'])
        mkdirSync(join(from, name), { recursive: true })
      writeFileSync(join(from, 'state', 'sessions', 'a.jsonl'), '{"n":1}\n')
      writeFileSync(join(from, 'workspace', 'src', 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
      symlinkSync('src/run.sh', join(from, 'workspace', 'link'))
      for (const [line, pattern] of [
        [`import anna@example.com ${from}`, /a cell "anna@example.com" already/],
        [`import new ${join(dir, 'nothing')}`, /no state and home/],
        [`export nobody ${join(dir, 'x')}`, /no files of a cell "nobody"/],
      ] as const) {
        const error = await run(line).catch((reason: Error) => reason)
        assert.match(String(error), pattern, line)
      }
      await run(`import moved ${from} anna@example.com --title Moved`)
      const twice = await run(`import moved ${from}`).catch((reason: Error) => reason)
      assert.match(String(twice), /There is a cell "moved" already/)
      assert.match(await run('list'), /moved {2}Moved {2}sleeps {2}anna@example\.com/)
      const to = join(dir, 'to')
      await run(`export moved ${to}`)
      const treeOf = (root: string) =>
        readdirSync(root, { recursive: true, encoding: 'utf8' })
          .filter(name => !name.includes('cluster.json'))
          .sort()
          .map(name => {
            const stat = lstatSync(join(root, name))
            // Folders with something in them are made as they are needed.
            return [name, stat.mode & (stat.isDirectory() ? 0o170000 : 0o170111)]
          })
      assert.equal(treeOf(to), treeOf(from))
      for (const host of ['127.0.0.1', 'localhost', 'no-such-host.invalid']) {
        const away = await run('list', `postgres://me@${host}:1/x`).catch(String)
        assert.match(away, /The database of the cluster does not answer: \w/, host)
      }
      const full = await run(`export moved ${to}`).catch((reason: Error) => reason)
      assert.match(String(full), /is not empty/)
      rmSync(dir, { recursive: true })
    } finally {
      await db.close()
    }
  })

test.run()
