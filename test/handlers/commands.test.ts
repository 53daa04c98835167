/** The list of slash commands, and messages that call a skill. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { commands as pageCommands } from '../../public/features/composer/slash-commands.ts'
import { startApp } from '../_app.ts'
import { startChat } from './_chat.ts'
import { requirePrefix } from './_prefix.ts'

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
  const app = await startApp()
  try {
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
  } finally {
    await app.close()
  }
})

test('lists enabled skills of the profile as commands, except those with the name of a command', async () => {
  const app = await startApp()
  try {
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
  } finally {
    await app.close()
  }
})

test('a message with a skill command is sent with the skill’s text and stored as typed', async () => {
  const chat = await startChat({ text: 'Done.' }, { text: 'A title' }, { text: 'Again.' })
  try {
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
  } finally {
    await chat.close()
  }
})

const addCommand = (home: string, path: string, text: string) => {
  const file = join(home, 'commands', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

test('Markdown files of the home are commands: listed, expanded for the model, kept as typed', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  try {
    const { home } = app
    addCommand(
      home,
      'review.md',
      '---\ndescription: Review it\nargument-hint: <file>\n---\nReview $1, then $2. All: $ARGUMENTS',
    )
    addCommand(home, 'git/sum.md', 'Sum up the day. !`touch never` @file')
    addCommand(home, 'help.md', 'Never')
    addCommand(home, 'bad name.md', 'Never')
    addCommand(home, 'empty.md', '---\ndescription: Never\n---\n')
    addCommand(home, 'git/cost.md', 'Under $10 or $1')
    addCommand(home, 'notes.txt', 'Never')
    addSkill(home, 'review', 'Never')
    const listed = ((await app.get('/api/commands')).body.commands as Command[])
      .filter(({ category }) => category === 'Your commands' || category === 'Skills')
      .map(({ name, description, args_hint }) => [name, description, args_hint])
    assert.equal(listed, [
      ['git:cost', 'Under $10 or $1', ''],
      ['git:sum', 'Sum up the day. !`touch never` @file', ''],
      ['review', 'Review it', '<file>'],
    ])
    const { body } = await app.post('/api/session/new', {})
    const { session_id } = body.session
    await app.post('/api/session/rename', { session_id, title: 'Named' })
    const table: [typed: string, sent: string][] = [
      ['/review "a b.ts" $1 x', 'Review a b.ts, then $1. All: "a b.ts" $1 x'],
      ['/REVIEW', 'Review , then . All: '],
      ['/git:sum please', 'Sum up the day. !`touch never` @file\n\nplease'],
      ['/git:cost 5', 'Under $10 or 5'],
      ['/empty', '/empty'],
      ['/bad name', '/bad name'],
      ['/git:../x', '/git:../x'],
    ]
    for (const [typed, sent] of table) {
      provider.push({ text: 'Done.' })
      await chat.turn(session_id, typed)
      const content = String(provider.requests.at(-1)?.body.messages.at(-1).content)
      assert.ok(content.endsWith(`]\n${sent}`), `${typed}: ${content}`)
    }
    const users = (await chat.messages(session_id)).filter(({ role }) => role === 'user')
    assert.equal(
      users.map(({ content }) => content),
      table.map(([typed]) => typed),
    )
    // A changed file changes no message that was sent.
    addCommand(home, 'review.md', 'Other')
    provider.push({ text: 'Done.' })
    await chat.turn(session_id, 'hello')
    requirePrefix(provider.requests)
  } finally {
    await chat.close()
  }
})

test.run()
