/** Agents of other programs from npm, each with a home of its own that points it at one scripted model of all four formats. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'

export type Step = { tool: string; args: Record<string, unknown> }

export type RealAgent = {
  id: string
  package: string
  program: string
  args: readonly string[]
  /** Files below the person's home, and variables of the agent's process. */
  configure: (url: string) => { files?: Record<string, string>; env?: Record<string, string> }
  /** How its model would do it. */
  create: (path: string, content: string) => Step
  edit: (path: string, before: string, after: string) => readonly Step[]
  run: (command: string) => Step
  /** What it asks about before it does it. */
  asks: readonly ('edit' | 'command')[]
  /** How its model would ask the user, with one answer on offer. */
  question?: (text: string, answer: string) => Step
  /** It does not send the output of its own commands. */
  isSilent?: boolean
  /** After a stop and the end of its process it may not find its session again: it gets the conversation instead. */
  isForgetful?: boolean
  /** One of its own commands. */
  command: string
  /** A list of steps; absent where it has no such tool. */
  plan?: (steps: readonly string[]) => Step
}

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** Codex reads a patch where another agent has a tool for each change. */
const patching = (body: string): Step => ({
  tool: 'exec_command',
  args: { cmd: `apply_patch <<'EOF'\n*** Begin Patch\n${body}*** End Patch\nEOF\n` },
})

export const AGENTS: readonly RealAgent[] = [
  {
    id: 'opencode',
    package: 'opencode-ai@1.18.33',
    program: 'opencode',
    args: ['acp'],
    asks: ['edit', 'command'],
    command: '/init',
    configure: url => ({
      files: {
        '.config/opencode/opencode.json': json({
          provider: {
            scripted: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Scripted',
              options: { baseURL: `${url}/v1`, apiKey: 'x' },
              models: {
                test: {
                  name: 'Test',
                  attachment: true,
                  modalities: { input: ['text', 'image'], output: ['text'] },
                },
              },
            },
          },
          model: 'scripted/test',
          small_model: 'scripted/test',
          autoupdate: false,
          share: 'disabled',
          permission: { bash: 'ask', edit: 'ask' },
        }),
      },
    }),
    create: (filePath, content) => ({ tool: 'write', args: { filePath, content } }),
    edit: (filePath, oldString, newString) => [
      { tool: 'read', args: { filePath } },
      { tool: 'edit', args: { filePath, oldString, newString } },
    ],
    run: command => ({ tool: 'bash', args: { command, description: 'Runs it' } }),
    plan: steps => ({
      tool: 'todowrite',
      args: {
        todos: steps.map((content, at) => ({
          id: String(at),
          content,
          status: at === 0 ? 'in_progress' : 'pending',
          priority: 'high',
        })),
      },
    }),
  },
  {
    id: 'gemini',
    package: '@google/gemini-cli@0.61.0',
    program: 'gemini',
    args: ['--acp'],
    asks: ['edit', 'command'],
    isSilent: true,
    isForgetful: true,
    command: '/about',
    configure: url => ({
      files: {
        '.gemini/settings.json': json({
          security: { auth: { selectedType: 'gemini-api-key' } },
          // Chosen, so that no smaller model is asked which one to take.
          model: { name: 'gemini-2.5-pro' },
          general: { disableAutoUpdate: true },
          privacy: { usageStatisticsEnabled: false },
        }),
      },
      // Servers are connected to in a trusted directory only.
      env: { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    }),
    create: (file_path, content) => ({ tool: 'write_file', args: { file_path, content } }),
    edit: (file_path, old_string, new_string) => [
      {
        tool: 'replace',
        args: { file_path, old_string, new_string, instruction: 'Change the line.' },
      },
    ],
    run: command => ({ tool: 'run_shell_command', args: { command, description: 'Runs it' } }),
  },
  {
    id: 'claude',
    package: '@agentclientprotocol/claude-agent-acp@0.100.0',
    program: 'claude-agent-acp',
    args: [],
    asks: ['edit', 'command'],
    command: '/context',
    configure: url => ({
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'x',
        DISABLE_TELEMETRY: '1',
        DISABLE_AUTOUPDATER: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    }),
    create: (file_path, content) => ({ tool: 'Write', args: { file_path, content } }),
    edit: (file_path, old_string, new_string) => [
      { tool: 'Read', args: { file_path } },
      { tool: 'Edit', args: { file_path, old_string, new_string } },
    ],
    run: command => ({ tool: 'Bash', args: { command, description: 'Runs it' } }),
  },
  {
    id: 'codex',
    package: '@agentclientprotocol/codex-acp@2.6.0',
    program: 'codex-acp',
    args: [],
    asks: ['edit', 'command'],
    command: '/status',
    configure: url => ({
      files: {
        '.codex/config.toml': [
          'model = "gpt-5"',
          'model_provider = "scripted"',
          'approval_policy = "on-request"',
          'approvals_reviewer = "user"',
          'sandbox_mode = "workspace-write"',
          '[model_providers.scripted]',
          'name = "Scripted"',
          `base_url = "${url}/v1"`,
          'env_key = "SCRIPTED_KEY"',
          'wire_api = "responses"',
          'requires_openai_auth = false',
          '[analytics]',
          'enabled = false',
          '',
        ].join('\n'),
      },
      env: { SCRIPTED_KEY: 'x' },
    }),
    create: (path, content) =>
      patching(
        `*** Add File: ${path}\n${content
          .trimEnd()
          .split('\n')
          .map(line => `+${line}\n`)
          .join('')}`,
      ),
    edit: (path, before, after) => [
      patching(`*** Update File: ${path}\n@@\n-${before}\n+${after}\n`),
    ],
    run: command => ({
      tool: 'exec_command',
      args: {
        cmd: command,
        sandbox_permissions: 'require_escalated',
        justification: 'It is the test.',
      },
    }),
  },
  {
    id: 'qwen',
    package: '@qwen-code/qwen-code@0.24.4',
    program: 'qwen',
    args: ['--acp'],
    asks: ['edit', 'command'],
    command: '/status',
    configure: url => ({
      files: {
        '.qwen/settings.json': json({
          security: { auth: { selectedType: 'openai' } },
          general: { disableAutoUpdate: true },
          privacy: { usageStatisticsEnabled: false },
          tools: { todoWrite: { enabled: true } },
        }),
      },
      env: { OPENAI_API_KEY: 'x', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'gpt-4o' },
    }),
    create: (file_path, content) => ({ tool: 'write_file', args: { file_path, content } }),
    edit: (file_path, old_string, new_string) => [
      { tool: 'read_file', args: { file_path } },
      { tool: 'edit', args: { file_path, old_string, new_string } },
    ],
    run: command => ({
      tool: 'run_shell_command',
      args: { command, description: 'Runs it', is_background: false },
    }),
    question: (question, label) => ({
      tool: 'ask_user_question',
      args: {
        questions: [
          {
            question,
            header: 'Ask',
            options: [
              { label, description: 'the one' },
              { label: 'Another', description: 'the other' },
            ],
          },
        ],
      },
    }),
    plan: steps => ({
      tool: 'todo_write',
      args: {
        todos: steps.map((content, at) => ({
          id: String(at),
          content,
          status: at === 0 ? 'in_progress' : 'pending',
        })),
      },
    }),
  },
]

/** Outside the repository, kept between runs: together they weigh more than a gigabyte. */
const cacheOf = (agent: RealAgent): string =>
  join(userInfo().homedir, '.cache', 'agent-webui-proofs', agent.package)

export const binOf = (agent: RealAgent): string => join(cacheOf(agent), 'node_modules', '.bin')

/** Why it cannot be had here, or null. */
export const missing = (agent: RealAgent): string | null => {
  const file = join(binOf(agent), agent.program)
  if (existsSync(file)) return null
  if (process.env.PROOF !== 'full')
    return `${agent.package} is installed by "npm run proof -- real-agents" only`
  try {
    mkdirSync(cacheOf(agent), { recursive: true })
    const args = ['install', '--prefix', cacheOf(agent), '--no-audit', '--no-fund', agent.package]
    execFileSync('npm', args, { stdio: 'pipe', timeout: 600_000 })
    return existsSync(file) ? null : `${agent.package} has no program ${agent.program}`
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return `${agent.package} cannot be installed: ${said}`.slice(0, 300)
  }
}

/** Its files below the person's home; the variables its process needs. */
export const settle = (agent: RealAgent, home: string, url: string): Record<string, string> => {
  const { files = {}, env = {} } = agent.configure(url)
  for (const [name, content] of Object.entries(files)) {
    const path = join(home, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  return env
}
