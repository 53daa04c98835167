/**
 * The schema of config.yaml: every key that is read, with its type, default, and documentation. `npm run docs` prints it.
 * The keys of models and providers are in config-models.ts, those of commands, containers, and the sandbox in config-commands.ts.
 */
import type { z } from 'zod'
import { EFFORTS } from '../base/efforts.ts'
import type { JsonObject } from '../base/json.ts'
import { yamlFlag, yamlWord } from '../store/yaml-file.ts'
import {
  type ConfigProblem,
  commaTexts,
  custom,
  flag,
  mapping,
  names,
  number,
  parseFields,
  raw,
  section,
  text,
  texts,
  verbatim,
  word,
} from './config-schema-helpers.ts'
import { containerKeys, sandboxKeys } from './config-commands.ts'
import { modelKeys } from './config-models.ts'

const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    // Intl throws a RangeError for a zone it does not know.
    return false
  }
}

/** Diagnostics of language servers; names and meaning as the host agent has them. */
const lspKeys = {
  lsp: section(
    {
      enabled: flag(
        false,
        'After write_file and patch, ask a language server for new errors and warnings, and give them to the model with the result.',
      ),
      wait_timeout: number(
        5,
        'Seconds to wait for a language server after an edit, its start included. What comes later is dropped.',
        { max: 60 },
      ),
      idle_timeout: number(
        600,
        'Seconds without an edit after which a language server is stopped; 0 never.',
        { orZero: true, max: 86_400 },
      ),
      servers: raw({
        type: 'a mapping from names to servers',
        description:
          'Language servers by name, built-in ones (`typescript`, `pyright`, `gopls`, `rust-analyzer`, `clangd`) or your own; see diagnostics.md.',
        keys: {
          disabled: '`true` switches it off.',
          command:
            'Program and arguments, as a list. You answer for it: it may be in the workspace.',
          extensions: 'Required for your own: `[".foo"]`.',
          language_id: 'Name of the language in the protocol; the extension by default.',
          root_markers: 'Files that mark the root of a project; the workspace by default.',
          env: 'More variables.',
          initialization_options: 'Settings for the server, as its documentation says.',
        },
      }),
    },
    'enabled',
  ),
}

const MAX_TOKENS = 20_000_000

const auxiliaryTask = <M extends z.ZodRawShape = Record<never, never>>(
  what: string,
  timeoutS: number,
  more: M = {} as M,
) =>
  section({
    provider: text(`Provider of the model that ${what}; blank, \`auto\` or \`main\`: the chat’s.`),
    model: text(`Model that ${what}; blank: the chat’s own.`),
    base_url: text('Address of an endpoint for this task.'),
    api_key: text('Key for that address.'),
    timeout: number(timeoutS, 'Seconds an answer may take.'),
    ...more,
  })

const context = {
  auxiliary: section({
    compression: auxiliaryTask('writes summaries', 120, {
      timeout: number(
        120,
        'Seconds an answer may take; a model in your own network has at least 30 minutes.',
      ),
    }),
    vision: auxiliaryTask('describes images', 30),
    web_extract: auxiliaryTask('shortens long web pages', 360),
    title_generation: auxiliaryTask('writes titles of chats', 30, {
      enabled: flag(
        true,
        'Ask a model for titles. Without it, a chat is called like its first message.',
      ),
    }),
    mcp: auxiliaryTask('answers MCP servers (sampling)', 30),
  }),
  compression: section({
    enabled: flag(true, 'Summarize earlier messages when the context window fills up.'),
    threshold: number(undefined, 'Share of the context window at which that happens.', {
      max: 1,
      defaultLabel: '0.5, and 0.75 in windows up to 32,768 tokens',
    }),
    threshold_tokens: number(0, 'Tokens at which that happens, instead of a share.', {
      orZero: true,
      max: MAX_TOKENS,
    }),
    model_thresholds: mapping(number(undefined, '', { max: MAX_TOKENS }), {
      type: 'a mapping from model name to a number above 0',
      description: 'Thresholds of some models: a share up to 1, tokens above.',
    }),
    target_ratio: number(0.2, 'Share of the threshold that stays word for word.', { max: 0.8 }),
    protect_first_n: number(3, 'Messages at the beginning that are never summarized.', {
      max: 100,
      isWhole: true,
    }),
    protect_last_n: number(20, 'Messages at the end that are retained while there is space.', {
      max: 1_000,
      isWhole: true,
    }),
    max_attempts: number(3, 'Summaries a turn may try when the context window is too small.', {
      max: 10,
      isWhole: true,
    }),
    summary_provider: text('Older place of `auxiliary.compression.provider`.'),
    summary_model: text('Older place of `auxiliary.compression.model`.'),
    summary_base_url: text('Older place of `auxiliary.compression.base_url`.'),
  }),
}

const agent = {
  agent: section({
    max_turns: number(90, 'Model calls in one turn.'),
    clarify_timeout: number(undefined, 'The same as `clarify.timeout`, which it overrides.', {
      orZero: true,
      defaultLabel: '',
    }),
    api_max_retries: number(undefined, 'Attempts of a model call that fails.', {
      defaultLabel: 'decided by the failure',
    }),
    system_prompt: verbatim('Instructions added to the system prompt.'),
    prefill_messages_file: text(
      'JSON file with messages sent at the beginning of every chat; relative to the home.',
    ),
    reasoning_effort: word(
      [...EFFORTS, 'max', 'ultra'],
      '',
      'How long the model thinks. Blank leaves it to the model; `max` and `ultra` count as `xhigh`.',
    ),
    tool_use_enforcement: custom<'auto' | boolean | string[]>({
      type: '`auto`, true or false, or a list of parts of model names',
      description:
        'Tell the model to act at once and to continue until the task is done. `auto`: every model.',
      fallback: 'auto',
      read: value =>
        value === 'auto'
          ? value
          : Array.isArray(value)
            ? value.filter(each => typeof each === 'string')
            : yamlFlag(value),
    }),
    image_input_mode: word(
      ['auto', 'native', 'text'],
      'auto',
      'Whether the model is sent images. `auto`: if it is known to accept them and `auxiliary.vision` names no other model; `native`: always; `text`: never, it can only ask about them.',
    ),
    disabled_toolsets: names('Toolsets that are off, whatever a chat asks for.'),
    personalities: raw({
      type: 'a mapping from name to text, or to a mapping',
      description: 'Personalities to pick from.',
      keys: {
        description: 'Shown in the menu.',
        system_prompt: 'The instructions; `prompt` is read as well.',
        tone: 'Added as a line of its own.',
        style: 'Added as a line of its own.',
      },
    }),
  }),
  personalities: raw({ type: 'a mapping', description: 'Older place of `agent.personalities`.' }),
  display: section({
    show_reasoning: flag(undefined, 'Show the model’s thinking. Shown unless this says no.'),
  }),
  delegation: section({
    model: text('Model of subagents.', 'that of the turn'),
    provider: text('Provider of that model.'),
    base_url: text('Address of an endpoint for subagents.'),
    api_key: text('Key for that address.'),
    max_iterations: number(50, 'Model calls of a subagent.'),
    max_depth: number(2, 'How deep subagents may delegate; 5 at most.'),
  }),
  checkpoints: section(
    {
      enabled: flag(true, 'Record file changes of a turn, so that they can be undone.'),
      max_snapshots: number(undefined, 'Turns of a workspace whose changes are retained.', {
        defaultLabel: 'decided by the service',
      }),
    },
    'enabled',
  ),
  memory: section({
    memory_enabled: flag(true, 'Use the agent’s notes.'),
    user_profile_enabled: flag(true, 'Use the notes about the user.'),
    memory_char_limit: number(2_200, 'Characters of the agent’s notes.', { isWhole: true }),
    user_char_limit: number(1_375, 'Characters of the notes about the user.', { isWhole: true }),
    write_approval: guard('Ask before notes are saved.'),
  }),
  skills: section({
    external_dirs: commaTexts('More directories with skills; relative to the home.'),
    disabled: commaTexts('Names of skills that are off.'),
    platform_disabled: section({ cli: commaTexts('More names of skills that are off.') }),
    write_approval: guard('Ask before skills change.'),
  }),
  budgets: section({
    turn: budget('a turn'),
    session: budget('a chat'),
    day: budget('all turns of a day'),
  }),
  clarify: section({
    timeout: number(120, 'Seconds a question of the agent waits for an answer; 0 waits forever.', {
      orZero: true,
    }),
  }),
  cron: section({
    max_run_seconds: number(7_200, 'Seconds a scheduled task may run; 0 for no limit.', {
      orZero: true,
    }),
  }),
}

function budget(of: string) {
  return section({
    tokens: number(undefined, `Tokens of ${of} before you are asked.`, {
      defaultLabel: 'no limit',
    }),
    usd: number(undefined, `Cost of ${of} in US dollars before you are asked.`, {
      defaultLabel: 'no limit',
    }),
  })
}

/** A key that lib/commands/guards judges from the raw file: even a misspelled wish for protection must count. */
function guard(description: string, type = '') {
  return raw({ type, description, isGuard: true })
}

const tools = {
  platform_toolsets: section({ cli: names('Toolsets that are on, and MCP servers.', 'agent-cli') }),
  mcp_servers: raw({
    type: 'a mapping from name to settings',
    description: 'MCP servers.',
    keys: {
      enabled: 'True or false (default `true`).',
      command: 'Program of a server on this machine.',
      args: 'Its arguments, as a list.',
      env: 'Its variables.',
      cwd: 'Its working directory.',
      url: 'Address of a server over HTTP.',
      headers: 'Headers sent to it.',
      transport: '`sse` for the older transport.',
      auth: '`oauth`: offer a sign-in before the server asks for one.',
      oauth:
        'For servers that register no clients: `client_id`, `client_secret`, `scope`, `client_name`, `redirect_uri`, or `redirect_port` and `redirect_host`.',
      timeout: 'Seconds a call may take (default 120).',
      connect_timeout: 'Seconds connecting may take (default 60).',
      sampling:
        'Answers of a model for the server, each approved by you: `enabled` (default `true`), `model`, `allowed_models`, `max_tokens_cap` (4096), `max_rpm` (10), `timeout` (30 seconds).',
      roots: '`true`: give the server the address of the workspace of each turn that uses it.',
      tools: 'Filter: `include`, `exclude`, `resources`, `prompts`.',
    },
  }),
  tools: section({
    tool_search: section(
      {
        enabled: word(
          ['auto', 'on', 'off'],
          'auto',
          'Describe tools to the model only when it looks for them: those that few conversations need (scheduled tasks, earlier chats, skills where there are none), and those of MCP servers, with `auto` only when these are more than 40, or their descriptions longer than 8,000 tokens or than `threshold_pct`.',
        ),
        threshold_pct: number(
          10,
          'Percent of the context window that their descriptions may take.',
          {
            max: 100,
          },
        ),
      },
      'enabled',
    ),
  }),
  terminal: section({
    cwd: text('Default workspace; `.` says nothing.'),
    env_passthrough: texts('Secret variables that programs may see. Others are removed.'),
    timeout: number(
      180,
      'Seconds the agent waits for a command before it continues in the background, unless the agent chooses another time.',
    ),
    persistent_shell: flag(
      false,
      'Keep exported variables and virtual environments from one command to the next of the chat. The directory is kept anyway.',
    ),
    shell_init_files: texts(
      'Files sourced by bash, once, for the environment of commands; `~` is your home directory. Aliases and functions are not kept.',
    ),
    auto_source_bashrc: flag(
      false,
      'Where `shell_init_files` is empty: source `~/.profile`, `~/.bash_profile`, and `~/.bashrc`. Tool directories such as those of nvm, pyenv, and cargo are in PATH without it.',
    ),
    home_mode: word(
      ['profile', 'user'],
      '',
      '`profile`: programs get the directory `home` of the profile as HOME, where it exists.',
    ),
    backend: guard(
      'Where commands run: `local`, `docker` (or podman, where only that is installed), or `podman`.',
    ),
    env_type: guard('Older place of `terminal.backend`.'),
    ...containerKeys,
  }),
  workspace: text('Default workspace.'),
  default_workspace: text('Older place of `workspace`.'),
  code_execution: section({
    timeout: number(300, 'Seconds a script of the agent may run.'),
    max_tool_calls: number(50, 'Tool calls of one script.'),
    mode: guard('Where scripts run; only `project` is supported.'),
  }),
  browser: section({
    allow_private_urls: flag(false, 'Fetch addresses of your own network.'),
  }),
  web: section({
    search_backend: text('Search service to prefer.', 'the first with a key'),
    backend: text('The same, where `search_backend` says nothing.'),
  }),
  stt: raw({
    type: 'a mapping',
    description: 'Speech to text.',
    keys: {
      enabled: 'True or false (default `true`).',
      provider:
        '`openai`, `groq`, or the name of a section below `stt`; blank: the first with a key.',
      model: 'Model that transcribes.',
      base_url: 'Address of an endpoint.',
      api_key: 'Key for that address.',
      '<provider>': 'Settings of one service: `model`, `base_url`, `api_key`.',
    },
  }),
  tts: raw({
    type: 'a mapping',
    description: 'Text to speech, for clients of `POST /api/tts`.',
    keys: {
      enabled: 'True or false (default `true`).',
      provider:
        '`openai`, or the name of a section below `tts` with a `base_url`; blank: that address, if there is one.',
      model: 'Model that speaks (default `gpt-4o-mini-tts`).',
      voice: 'Voice of that model (default `alloy`).',
      base_url: 'Address of an endpoint in the format of OpenAI’s `/v1/audio/speech`.',
      api_key: 'Key for that address.',
      '<provider>': 'Settings of one service: `model`, `voice`, `base_url`, `api_key`.',
    },
  }),
  timezone: custom<string>({
    type: 'an IANA time zone',
    description: 'Your time zone, such as `Europe/Berlin`.',
    fallback: '',
    defaultLabel: 'that of the machine',
    read: value =>
      typeof value === 'string' && isTimeZone(value.trim()) ? value.trim() : undefined,
  }),
}

const APPROVAL_MODES = ['manual', 'smart', 'off'] as const

const safety = {
  approvals: section({
    mode: custom<'manual' | 'smart' | 'off'>({
      type: 'one of manual, smart, off',
      description:
        '`off` runs dangerous commands without asking. `smart` counts as `manual`. Other spellings of `off`, such as `no` and `0`, mean `manual`.',
      fallback: 'manual',
      // Stricter than other keys, because it switches a protection off. YAML 1.1 reads `off` as false.
      read: value => APPROVAL_MODES.find(mode => mode === yamlWord(value)),
    }),
    timeout: number(60, 'Seconds `agent-webui chat` waits for an approval.'),
    gateway_timeout: number(300, 'Seconds an approval waits in the page; 0 waits forever.', {
      orZero: true,
    }),
    cron_mode: word(
      ['deny', 'approve', 'allow'],
      'deny',
      'What happens to approvals in scheduled tasks. `allow` means `approve`.',
    ),
    outside_sandbox: custom<'changes' | 'dangerous' | undefined>({
      type: '`changes` or `dangerous`',
      description:
        'What is asked about where commands run directly on this computer: every command that can change something, or only dangerous ones, like the command line. Without it, `AGENT_WEBUI_OUTSIDE_SANDBOX` decides.',
      fallback: undefined,
      read: value => (['changes', 'dangerous'] as const).find(each => each === yamlWord(value)),
    }),
    deny: guard('Patterns of commands that never run.', 'a list of texts'),
    command_approval_required: guard(
      'Patterns of commands that run only in the command-line client.',
      'a list of texts',
    ),
  }),
  command_allowlist: texts('Kinds of commands that run without asking.'),
  permissions: section({
    deny: guard('Rules: what never runs. docs/permissions.md describes them.', 'a list of rules'),
    ask: guard('Rules: what always needs your approval.', 'a list of rules'),
    allow: guard('Rules: what runs without asking.', 'a list of rules'),
  }),
  security: section({
    website_blocklist: raw({
      type: 'a mapping',
      description:
        'Hosts that are never fetched. A list that cannot be understood stops all fetching.',
      keys: {
        enabled: 'True or false (default `false`).',
        domains: 'Names of hosts; `*` matches any part.',
        shared_files: 'Files with one name a line.',
      },
    }),
    redact_secrets: guard('Secrets are always masked.'),
    tirith_enabled: guard('Check commands with tirith, which is not supported.'),
    tirith_path: guard('Path of tirith.'),
    tirith_fail_open: guard('What happens when tirith cannot check a command.'),
    protected_instruction_files: guard('Ask before instruction files change.'),
    protected_instruction_extra_patterns: guard('More names of such files.', 'a list of texts'),
  }),
  hooks: guard(
    'Programs to run before and after tool calls, with each message, and at the end of a turn: lists of `matcher`, `command`, `timeout`, `fail_closed` by event; see hooks.md.',
    'a mapping',
  ),
  toolsets: guard('Older key; use `platform_toolsets.cli`.'),
}

export const ProfileConfigSchema = section({
  ...modelKeys,
  ...context,
  ...agent,
  ...tools,
  ...sandboxKeys,
  ...lspKeys,
  ...safety,
})

/** config.yaml of a profile with defaults applied. Free-form sections are `unknown`. */
export type ProfileConfig = z.output<typeof ProfileConfigSchema>

/** Never throws: what is invalid falls back to its default and is listed in `problems`. */
export const parseProfileConfig = (
  config: Readonly<JsonObject>,
): { value: ProfileConfig; problems: ConfigProblem[] } => parseFields(ProfileConfigSchema, config)

export const DEFAULT_PROFILE_CONFIG: ProfileConfig = parseProfileConfig({}).value
