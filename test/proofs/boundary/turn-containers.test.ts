/** `terminal.backend: docker` over a whole turn: what runs in the container, what is asked, and what is refused. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createFakeDocker } from './_place.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('containers of a turn')

test('commands, scripts, and tasks run in the container; contradictions and other back ends are refused', async () => {
  const docker = createFakeDocker()
  const chat = await startChat()
  const { app, provider } = chat
  try {
    const workspace = join(app.userHome, 'project')
    mkdirSync(workspace, { recursive: true })
    await app.post('/api/workspaces/add', { path: workspace })
    const { body } = await app.post('/api/session/new', { workspace })
    const id = String(body.session.session_id)
    const configure = (yaml: string, more = '') => {
      writeFileSync(
        join(app.home, 'config.yaml'),
        `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\ncheckpoints:\n  enabled: false\napprovals:\n  mode: off\n${yaml}`,
      )
      const program = join(docker.env.FAKE_DOCKER ?? '', 'bin/docker')
      writeFileSync(
        join(app.home, '.env'),
        `HERMES_DOCKER_BINARY=${program}\nFAKE_DOCKER=${docker.env.FAKE_DOCKER}\n${more}`,
      )
    }
    const act = async (name: string, args: Record<string, unknown>): Promise<string> => {
      provider.otherwise = request =>
        request.messages.at(-1).role === 'tool' || !request.tools?.length
          ? { text: 'done' }
          : { toolCalls: [{ id: 'c1', name, arguments: args }] }
      await chat.turn(id, 'go on')
      return String((await chat.messages(id)).findLast(({ role }) => role === 'tool')?.content)
    }
    const mark = join(workspace, 'ran')
    const touch = { command: `touch ${mark}; echo from $OF_IMAGE` }
    const image = 'docker_image: test/image'

    for (const [yaml, says, dotenv] of [
      [`terminal:\n  backend: docker\n  ${image}\n  docker_network: maybe\n`, /docker_network/],
      [`terminal:\n  backend: docker\n  ${image}\nsandbox: true\n`, /only one of them/],
      [
        `terminal:\n  backend: docker\n  ${image}\n`,
        /TERMINAL_DOCKER_IMAGE/,
        'TERMINAL_DOCKER_IMAGE=x',
      ],
      ['terminal:\n  backend: ssh\n', /terminal\.backend/],
    ] as const) {
      configure(yaml, dotenv)
      assert.match(await act('terminal', touch), says)
      assert.not(existsSync(mark), yaml)
    }
    docker.state({ down: 'Cannot connect to the Docker daemon. Is the docker daemon running?' })
    configure(`terminal:\n  backend: docker\n  ${image}\n`)
    assert.match(await act('terminal', touch), /can't be reached/)
    assert.not(existsSync(mark))
    docker.state({ down: undefined })

    assert.match(await act('terminal', touch), 'from yes')
    assert.ok(existsSync(mark))
    const code = await act('execute_code', {
      code: 'import os\nprint(os.environ.get("OF_IMAGE"), terminal("echo $OF_IMAGE")["output"])',
    })
    assert.match(code, /yes yes/)
    configure(`terminal:\n  env_type: docker\n  ${image}\n`)
    assert.match(await act('terminal', touch), 'from yes')
    await chat.close()
    assert.equal(docker.state().containers, [])
  } finally {
    await chat.close()
    docker.close()
  }
})

test.run()
