/** The keys of config.yaml that choose models: `model`, `providers`, fallbacks, routing. Part of the schema in config.ts. */
import { mapping, raw, section, word } from './config-schema-helpers.ts'

const ENDPOINT_KEYS = {
  base_url: 'Address of the endpoint; `url` and `api` are read as well.',
  api_key: 'Key for that address.',
  api_key_env: 'Variable with the key, instead of `api_key`; `key_env` is read as well.',
  api_mode: '`chat_completions`, `anthropic_messages`, `codex_responses` or `ollama_chat`.',
  models:
    'Models on offer: a list of ids, or a mapping from id to `{context_length, supports_vision}`.',
}

const REQUEST_KEYS = {
  extra_headers:
    'Further headers of its requests, such as `anthropic-beta`: a mapping. They are sent to this address only. `default_headers` is read as well.',
  request_timeout_seconds: 'Seconds a response may take in all; 0 and blank: without a limit.',
  stale_timeout_seconds:
    'Seconds without any data after which a request is repeated; 0: never. Default: 180 to 300, by the length of the prompt, and never in your own network.',
}

const EXTERNAL_AGENT_KEYS = {
  acp_command: 'Program of an external agent that speaks ACP.',
  acp_args: 'Its arguments, as a list or separated by spaces.',
  env: 'Variables for the external agent.',
  acp_files:
    '`agent`: it uses its own files and terminals, not those of the service, as on another machine.',
  acp_cwd: 'With `acp_files: agent`: the absolute path it works in, there.',
  acp_mcp:
    'Pass the MCP servers on to the external agent (default `true`, with `acp_files: agent` `false`).',
  acp_mode:
    'The mode that a new chat with the external agent starts in, by the agent’s id of it (default: one that asks before it acts, if the agent has one).',
  acp_model: 'The model that it starts with; another one may be chosen in the model menu.',
  acp_options: 'A mapping from the agent’s options to the values that it starts with.',
  acp_start_timeout:
    'Seconds until the external agent’s first answer (default 60, or 900 if it has to be fetched).',
  acp_idle_timeout:
    'Seconds an unused session, and then the external agent, stays open (default 600).',
  acp_max_idle: 'Unused sessions of the external agent that stay open (default 4).',
}

const endpoints = {
  model: raw({
    type: 'a model id, or a mapping',
    description: 'The default model and where it is served.',
    keys: {
      default: 'Model id; `model` is read as well.',
      provider: 'Provider id; blank or `auto` looks for one with a key.',
      base_url: 'Address of the endpoint.',
      api_key: 'Key for that address; `api` is read as well.',
      api_mode: ENDPOINT_KEYS.api_mode,
      context_length: 'Tokens the model can read; replaces what its server reports.',
      ollama_num_ctx:
        'Context size to request from an Ollama server. Requests then use Ollama’s own API, because the compatible one ignores it.',
      supports_vision: 'Whether the model accepts images.',
      max_tokens: 'Tokens of an answer, at most.',
      ...REQUEST_KEYS,
      ...EXTERNAL_AGENT_KEYS,
    },
  }),
  provider: raw({ type: 'text', description: 'Older place of `model.provider`.' }),
  base_url: raw({ type: 'text', description: 'Older place of `model.base_url`.' }),
  providers: raw({
    type: 'a mapping from provider id to settings',
    description: 'Settings of providers.',
    keys: { ...ENDPOINT_KEYS, ...REQUEST_KEYS, name: 'Display name.', ...EXTERNAL_AGENT_KEYS },
  }),
  custom_providers: raw({
    type: 'a list of mappings',
    description: 'Endpoints of your own, picked as `custom:<name>`.',
    keys: {
      name: 'Name of the endpoint.',
      model: 'A model of the endpoint.',
      context_length: 'Tokens that model can read.',
      supports_vision: 'Whether that model accepts images.',
      ...ENDPOINT_KEYS,
      ...REQUEST_KEYS,
      ...EXTERNAL_AGENT_KEYS,
    },
  }),
  fallback_providers: raw({
    type: 'a list of mappings',
    description: 'Models that step in, in order, when the chosen one cannot answer.',
    keys: {
      model: 'Model id.',
      provider: 'Provider id.',
      base_url: 'Address of the endpoint.',
      api_key: 'Key for that address.',
      api_key_env: 'Variable with the key; `key_env` is read as well.',
    },
  }),
  fallback_model: raw({
    type: 'a model id, or a mapping',
    description: 'Older form of `fallback_providers` with one entry; read when the list is empty.',
  }),
  credential_pool_strategies: mapping(
    word(['fill_first', 'round_robin', 'random', 'least_used'], 'fill_first', ''),
    {
      type: 'a mapping from provider id to `fill_first`, `round_robin`, `random` or `least_used`',
      description: 'Which of several keys of a provider is used next. Default: `fill_first`.',
    },
  ),
  provider_routing: raw({
    type: 'a mapping',
    description:
      'Which of OpenRouter’s providers may serve a request. A value that cannot be understood stops requests to OpenRouter.',
    keys: {
      sort: '`price`, `throughput` or `latency`.',
      only: 'Names of providers.',
      ignore: 'Names of providers.',
      order: 'Names of providers.',
      require_parameters: 'True or false.',
      data_collection: '`allow` or `deny`.',
      allow_fallbacks: 'True or false.',
      zdr: 'True or false.',
      enforce_distillable_text: 'True or false.',
      quantizations: 'Names of quantizations.',
      max_price: 'A mapping, as OpenRouter defines it.',
      preferred_min_throughput: 'A number, or a mapping.',
      preferred_max_latency: 'A number, or a mapping.',
    },
  }),
  prompt_caching: section({
    cache_ttl: word(['5m', '1h'], '5m', 'How long a provider caches prompts.'),
  }),
}

export const modelKeys = endpoints
