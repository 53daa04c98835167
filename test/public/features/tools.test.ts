/** Toolsets of the profile and of a session: requests and errors. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Toolsets } from '../../../lib/schema/toolset.ts'
import { ToolsState } from '../../../public/features/tools/tools.ts'
import { ApiError } from '../../../public/api.ts'
import { fakeApi } from '../_page.ts'

const test = suite('page: tools')

const toolsets = (own: string[] | null, session_id: string | null = null): Toolsets => ({
  toolsets: ['web', 'file', 'todo'].map(name => ({
    name,
    summary: '',
    tools: [],
    enabled: own?.includes(name) ?? name !== 'todo',
    profile_enabled: name !== 'todo',
    forbidden: false,
  })),
  mcp: [],
  source: own ? 'session' : 'profile',
  enabled_toolsets: own,
  instruction_files: [],
  session_id,
  profile: 'default',
})

const build = (own: string[] | null, { foreign = false } = {}) => {
  const said: unknown[] = []
  const service = fakeApi({
    'GET /api/tools': ({ session_id }) =>
      session_id ? toolsets(own, String(session_id)) : toolsets(null),
    'POST /api/tools/toggle': () => toolsets(null),
    'POST /api/session/toolsets': () => ({ ok: true, enabled_toolsets: null }),
  })
  const app = {
    shell: { api: service.api, toasts: { showError: (error: unknown) => said.push(error) } },
    chat: { transcript: { sessionId: signal('s1') } },
    sessions: { row: () => (foreign ? { is_cli_session: true } : { session_id: 's1' }) },
  }
  return {
    ...service,
    said,
    tools: new ToolsState(app as unknown as ConstructorParameters<typeof ToolsState>[0]),
  }
}

test('toasts an error and keeps the list', async () => {
  const { tools, answers, said } = build(null)
  await tools.load()
  answers['POST /api/tools/toggle'] = () => {
    throw new ApiError(409, 'The file is managed')
  }
  await tools.toggle('web', false)
  assert.is(said.length, 1)
  assert.is(tools.state.value, 'ready')
  assert.ok(tools.profile.value?.toolsets[0]?.enabled)
})

test('shows a failed first load', async () => {
  const { tools, answers } = build(null)
  answers['GET /api/tools'] = () => {
    throw new ApiError(500, 'no')
  }
  await tools.load()
  assert.is(tools.state.value, 'failed')
})

test('a session override starts with the enabled toolsets and is removed with null', async () => {
  const { tools, of } = build(null)
  await tools.toggleForSession('web', true)
  await tools.setOverride(true)
  assert.equal(of('POST /api/session/toolsets'), [])
  await tools.load()
  await tools.setOverride(true)
  await tools.setOverride(false)
  assert.equal(
    of('POST /api/session/toolsets').map(input => input.toolsets),
    [['web', 'file'], null],
  )
})

test('toggling keeps unknown names', async () => {
  const { tools, of } = build(['file', 'my_server'])
  await tools.load()
  await tools.toggleForSession('todo', true)
  await tools.toggleForSession('file', false)
  assert.equal(
    of('POST /api/session/toolsets').map(input => input.toolsets),
    [['file', 'todo', 'my_server'], ['my_server']],
  )
})

test.run()
