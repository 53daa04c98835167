/** The environment of commands in a turn: shell init files that fail, that may not be changed, and that apply. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from './_chat.ts'

const test = suite('shell')

test('init files: a broken one is one warning per session, changing one needs approval, a good one applies', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  const file = join(app.home, 'init.sh')
  appendFileSync(
    join(app.home, 'config.yaml'),
    `approvals:\n  mode: off\nterminal:\n  shell_init_files: [${file}]\n`,
  )
  const id = await chat.newSession()
  const run = async (command: string) => {
    provider.push({ toolCalls: [{ name: 'terminal', arguments: { command } }] }, { text: 'done' })
    const seen = await chat.turn(id, 'go')
    const result = (await chat.messages(id)).findLast(({ role }) => role === 'tool')
    return {
      warnings: seen.flatMap(({ event, data }) =>
        event === 'warning' && data.type === 'shell' ? [String(data.message)] : [],
      ),
      result: JSON.parse(String(result?.content)),
    }
  }
  writeFileSync(file, 'exit 3')
  const broken = await run('printenv FROM_INIT || echo nothing')
  assert.is(broken.result.output, 'nothing\n')
  assert.is(broken.warnings.length, 1)
  assert.match(broken.warnings[0] ?? '', 'init.sh ends the shell (exit code 3)')
  assert.equal((await run('true')).warnings, [])

  provider.push(
    { toolCalls: [{ name: 'terminal', arguments: { command: `echo "export X=1" >${file}` } }] },
    { text: 'done' },
  )
  const stream = await chat.send(id, 'go')
  const asked = (await chat.follow(stream, 'approval')).at(-1)
  const choice = { session_id: id, approval_id: asked?.data.approval_id, choice: 'deny' }
  assert.is((await app.post('/api/approval/respond', choice)).status, 200)
  await chat.follow(stream)
  assert.is(readFileSync(file, 'utf8'), 'exit 3')

  writeFileSync(file, 'export FROM_INIT="a value"\n')
  const good = await run('echo $FROM_INIT')
  assert.equal([good.result.output, good.warnings], ['a value\n', []])
  await chat.close()
})

test('git opens no editor, whatever the user has set: nobody could type into it', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  const file = join(app.home, 'init.sh')
  writeFileSync(file, 'export GIT_EDITOR=false GIT_SEQUENCE_EDITOR=false\n')
  appendFileSync(
    join(app.home, 'config.yaml'),
    `approvals:\n  mode: off\nterminal:\n  shell_init_files: [${file}]\n`,
  )
  const git = 'git -c user.name=a -c user.email=a@b.c'
  const commit = `${git} commit -q --allow-empty`
  const command = `git init -q r && cd r && ${commit} -m one && ${commit} -m two && ${commit} --amend && ${git} rebase -q -i --root && git log --format=%s`
  provider.push({ toolCalls: [{ name: 'terminal', arguments: { command } }] }, { text: 'done' })
  const id = await chat.newSession()
  await chat.turn(id, 'go')
  const result = (await chat.messages(id)).findLast(({ role }) => role === 'tool')
  const { exit_code, output } = JSON.parse(String(result?.content))
  assert.equal([exit_code, output], [0, 'two\none\n'])
  await chat.close()
})

test.run()
