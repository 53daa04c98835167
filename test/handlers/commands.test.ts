/** The list of slash commands, and messages that call a skill. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { commands as pageCommands } from '../../public/features/composer/slash-commands.ts'
import { startApp } from '../_app.ts'
import { startChat } from './_chat.ts'

type Command = { name: string; category: string; aliases: string[]; [key: string]: unknown }

const addSkill = (home: string, name: string, text: string) => {
  const dir = join(home, 'skills', name)
  mkdirSync(dir, { recursive: true })
  writeFileSync(
    join(dir, 'SKILL.md'),
    `---\nname: ${name}\ndescription: About ${name}\n---\n${text}\n`,
  )
}

const test = suite('commands over HTTP')

test('contract 1.13: the list holds exactly the commands the page can run, with all eight keys', async () => {
  await using app = await startApp()
  const { commands } = (await app.get('/api/commands')).body as { commands: Command[] }
  const all = (list: readonly { name: string; aliases?: readonly string[] }[]) =>
    list.flatMap(({ name, aliases = [] }) => [name, ...aliases]).sort()
  assert.equal(all(commands), all(pageCommands))
  for (const command of commands) {
    assert.equal(Object.keys(command).sort(), [
      'aliases',
      'args_hint',
      'category',
      'cli_only',
      'description',
      'gateway_only',
      'name',
      'subcommands',
    ])
    assert.equal([command.cli_only, command.gateway_only], [false, false])
  }
})

test('lists enabled skills of the profile as commands, except those with the name of a command', async () => {
  await using app = await startApp()
  for (const name of ['deploy', 'Code Review', 'help', 'off']) addSkill(app.home, name, 'Text')
  addSkill(join(app.home, 'profiles', 'work'), 'clerk', 'Text')
  writeFileSync(join(app.home, 'config.yaml'), 'skills: {disabled: [off]}\n')
  const skills = async (headers = {}) =>
    ((await app.get('/api/commands', { headers })).body.commands as Command[])
      .filter(({ category }) => category === 'Skills')
      .map(({ name, description }) => [name, description])
  assert.equal(await skills(), [
    ['code-review', 'About Code Review'],
    ['deploy', 'About deploy'],
  ])
  assert.equal(await skills({ Cookie: 'agent_profile=work' }), [['clerk', 'About clerk']])
})

test('a message with a skill command is sent with the skill’s text and stored as typed', async () => {
  await using chat = await startChat({ text: 'Done.' }, { text: 'A title' }, { text: 'Again.' })
  addSkill(chat.app.home, 'deploy', 'First build, then ship.')
  const id = await chat.newSession()
  await chat.turn(id, '/deploy the shop')
  const said = (at: number): string =>
    chat.provider.requests[at]?.body.messages
      .filter(({ role }: { role: string }) => role === 'user')
      .map(({ content }: { content: string }) => content)
      .join('\n---\n')
  assert.match(said(0), 'First build, then ship.')
  assert.match(said(0), /\n\nthe shop$/)
  assert.is((await chat.messages(id))[0]?.content, '/deploy the shop')
  await chat.turn(id, '/nothing like a skill')
  const last = chat.provider.requests.length - 1
  assert.match(said(last), 'First build, then ship.')
  assert.match(said(last), '/nothing like a skill')
})

test.run()
