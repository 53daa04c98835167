/** How the configured effort is said in `chat_completions`: one row per server or model family, as its documentation says. */
import type { JsonObject } from '../../base/json.ts'
import type { ModelEndpoint } from '../types.ts'
import type { Effort } from '../../base/efforts.ts'
import { BUDGETS, THREE, UP_TO_MAX } from './effort-words.ts'
import { effortOf, isReasoning } from './codex-responses.ts'
import { hostname } from './stream-request.ts'

type EffortFields = (effort: Effort, model: string) => JsonObject

/** The first row that matches decides. `hosts` matches "provider host", such as "zai api.z.ai". */
type Row = { name: string; hosts?: RegExp; models?: RegExp; say: EffortFields; source: string }

/** The effort in the words of a server that has only these. */
const levels =
  (words: Partial<Record<Effort, string>>): EffortFields =>
  effort => {
    const word = words[effort]
    return word === undefined ? {} : { reasoning_effort: word }
  }

const isOn = (effort: Effort): boolean => effort !== 'none'

/** `thinking` as Kimi, GLM, MiMo and DeepSeek know it. */
const toggled: EffortFields = effort => ({
  thinking: { type: isOn(effort) ? 'enabled' : 'disabled' },
})
const nothing: EffortFields = () => ({})

/** Alibaba's servers, for models of any family. */
const budgeted: EffortFields = effort =>
  effort === 'none'
    ? { enable_thinking: false }
    : { enable_thinking: true, thinking_budget: BUDGETS[effort] }

/** Servers that render the model's template (vLLM, SGLang, llama.cpp) read its own switch; gateways pass on `thinking`. */
const templated =
  (name: 'enable_thinking' | 'thinking'): EffortFields =>
  effort => ({
    thinking: { type: isOn(effort) ? 'enabled' : 'disabled' },
    chat_template_kwargs: { [name]: isOn(effort) },
  })

const ofOpenAi: EffortFields = (effort, model) => {
  const level = isReasoning(model) ? effortOf(model, effort) : undefined
  return level === undefined ? {} : { reasoning_effort: level }
}

const ALWAYS_THINKS =
  /kimi-k2(?:\.7-code|-thinking)|minimax[-_]?m2|thinking|deepseek-r1|\bqwq|\bqvq|magistral/i
const NEVER_THINKS =
  /instruct|kimi-k2(?![.-](?:[5-9]|thinking))|qwen-?(?:1|2)|qwen3-coder|glm-4(?![.\d])|moonshot-v1|deepseek-(?:v2|v3(?!\.[1-9]))|minimax-text/i

const ROWS: readonly Row[] = [
  {
    name: 'Models of OpenAI, here and behind gateways',
    models: /(?:^|\/)(?:gpt-(?!oss)|chatgpt|o[134](?![\w]))/i,
    say: ofOpenAi,
    source: 'https://platform.openai.com/docs/guides/reasoning',
  },
  {
    name: 'OpenAI and Azure, whose deployments have any name',
    hosts: /[ .]openai\.com$|\.azure\.com$/,
    say: ofOpenAi,
    source: 'https://platform.openai.com/docs/guides/reasoning',
  },
  {
    name: 'Kimi K3: always thinks',
    hosts: /^kimi-coding |[ .](?:moonshot|kimi)\.(?:ai|cn|com)$/,
    models: /kimi-k(?:[3-9]|\d\d)/i,
    say: levels({ none: 'low', ...UP_TO_MAX }),
    source: 'https://platform.kimi.ai/docs/guide/use-thinking-effort',
  },
  {
    name: 'Groq: gpt-oss always thinks, Qwen knows on and off',
    hosts: /[ .]groq\.com$/,
    models: /gpt-oss/i,
    say: levels({ none: 'low', ...THREE }),
    source: 'https://console.groq.com/docs/reasoning',
  },
  {
    name: 'Groq: Qwen',
    hosts: /[ .]groq\.com$/,
    models: /qwen/i,
    say: effort => ({ reasoning_effort: isOn(effort) ? 'default' : 'none' }),
    source: 'https://console.groq.com/docs/reasoning',
  },
  {
    name: 'Groq: others',
    hosts: /[ .]groq\.com$/,
    say: nothing,
    source: 'https://console.groq.com/docs/reasoning',
  },
  {
    name: 'Cerebras: GLM',
    hosts: /[ .]cerebras\.ai$/,
    models: /glm/i,
    say: effort => ({ disable_reasoning: !isOn(effort) }),
    source: 'https://inference-docs.cerebras.ai/capabilities/reasoning',
  },
  {
    name: 'Fireworks',
    hosts: /[ .]fireworks\.ai$/,
    say: levels({ none: 'none', ...THREE }),
    source: 'https://docs.fireworks.ai/guides/reasoning',
  },
  {
    name: 'Ollama',
    hosts: /^ollama(?:-cloud)? |[ .]ollama\.com$/,
    say: levels({ none: 'none', ...THREE }),
    source: 'https://docs.ollama.com/api/openai-compatibility',
  },
  {
    name: 'Mistral: two levels',
    hosts: /^mistralai |[ .]mistral\.ai$/,
    models: /mistral-(?:small|medium|large)/i,
    say: effort => ({ reasoning_effort: isOn(effort) ? 'high' : 'none' }),
    source: 'https://docs.mistral.ai/capabilities/reasoning',
  },
  {
    name: 'Mistral: others',
    hosts: /^mistralai |[ .]mistral\.ai$/,
    say: nothing,
    source: 'https://docs.mistral.ai/capabilities/reasoning',
  },
  {
    name: 'Gemini 2.5 Pro and Gemini 3: always think',
    models: /gemini-(?:2\.5-pro|[3-9])/i,
    say: (effort, model) => ({
      reasoning_effort:
        effort === 'none' || effort === 'minimal'
          ? /flash/i.test(model)
            ? 'minimal'
            : 'low'
          : THREE[effort],
    }),
    source: 'https://ai.google.dev/gemini-api/docs/openai#thinking',
  },
  {
    name: 'Gemini 2.5 Flash',
    models: /gemini-2\.5/i,
    say: levels({ none: 'none', ...THREE }),
    source: 'https://ai.google.dev/gemini-api/docs/openai#thinking',
  },
  {
    name: 'gpt-oss always thinks',
    models: /gpt-oss/i,
    say: levels({ none: 'low', ...THREE }),
    source: 'https://developers.openai.com/cookbook/articles/gpt-oss/handle-raw-cot',
  },
  {
    name: 'Models that always think',
    models: ALWAYS_THINKS,
    say: nothing,
    source:
      'https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model, https://docs.together.ai/docs/inference/chat/reasoning',
  },
  {
    name: 'Models that never think',
    models: NEVER_THINKS,
    say: nothing,
    source: 'https://qwen.readthedocs.io/en/latest/getting_started/quickstart.html',
  },
  {
    name: 'Alibaba Cloud, SiliconFlow: models of all families',
    hosts: /^(?:alibaba|qwen-oauth) |[ .](?:aliyuncs\.com|qwen\.ai|siliconflow\.(?:cn|com))$/,
    models: /qwen|deepseek|glm|kimi|minimax/i,
    say: budgeted,
    source: 'https://www.alibabacloud.com/help/en/model-studio/deep-thinking',
  },
  {
    name: 'Together: on or off',
    hosts: /[ .]together\.(?:ai|xyz)$/,
    models: /qwen|deepseek|glm|kimi/i,
    say: effort => ({ reasoning: { enabled: isOn(effort) } }),
    source: 'https://docs.together.ai/docs/inference/chat/reasoning',
  },
  {
    name: 'DeepSeek',
    hosts: /^deepseek |[ .]deepseek\.com$/,
    say: effort => ({ ...toggled(effort, ''), ...levels(UP_TO_MAX)(effort, '') }),
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
  },
  {
    name: 'Kimi K2.5 and K2.6: on or off',
    hosts: /^kimi-coding |[ .](?:moonshot|kimi)\.(?:ai|cn|com)$/,
    say: toggled,
    source: 'https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model',
  },
  {
    name: 'GLM 5.2 and later',
    hosts: /^zai |[ .](?:z\.ai|bigmodel\.cn)$/,
    models: /glm-(?:5\.(?:[2-9]|\d\d)|[6-9])/i,
    say: effort => ({
      ...toggled(effort, ''),
      ...(isOn(effort) && { reasoning_effort: effort === 'xhigh' ? 'max' : 'high' }),
    }),
    source: 'https://docs.bigmodel.cn/cn/guide/start/migrate-to-glm-new',
  },
  {
    name: 'GLM 4.5 and later, MiMo: on or off',
    hosts: /^(?:zai|xiaomi) |[ .](?:z\.ai|bigmodel\.cn|xiaomimimo\.com)$/,
    say: toggled,
    source: 'https://docs.z.ai/guides/capabilities/thinking-mode',
  },
  {
    name: 'MiniMax M3 and later: on or off',
    models: /minimax[-_]?m(?:[3-9]|\d\d)/i,
    say: effort => ({ thinking: { type: isOn(effort) ? 'adaptive' : 'disabled' } }),
    source: 'https://platform.minimax.io/docs/api-reference/text-openai-api',
  },
  {
    name: 'Qwen 3 and GLM on other servers',
    models: /qwen-?(?:[3-9]|\d\d|plus|flash|max|turbo)|glm-(?:4\.[5-9]|[5-9])/i,
    say: templated('enable_thinking'),
    source: 'https://qwen.readthedocs.io/en/latest/deployment/vllm.html',
  },
  {
    name: 'DeepSeek and Kimi on other servers',
    models: /deepseek-(?:chat|v)|kimi-k2\.[56]/i,
    say: (effort, model) => ({
      ...templated('thinking')(effort, model),
      ...levels(UP_TO_MAX)(effort, model),
    }),
    source: 'https://docs.vllm.ai/projects/recipes/en/latest/DeepSeek/DeepSeek-V3_1.html',
  },
  {
    name: 'All others: the levels that most servers know',
    say: levels(THREE),
    source: 'https://platform.openai.com/docs/api-reference/chat/create',
  },
]

/** Model families of aggregators that reason, and get the default effort where none is configured. */
const REASONING_FAMILY =
  /^(?:deepseek\/|anthropic\/|openai\/|x-ai\/|google\/gemini-(?:2\.5|[3-9])|qwen\/qwen(?:[3-9]|-plus|-max)|moonshotai\/kimi-k(?:2-thinking|2\.[5-9]|[3-9])|z-ai\/glm-(?:4\.[5-9]|[5-9])|minimax\/minimax-m|nvidia\/.*nemotron|xiaomi\/mimo|bytedance-seed\/|stepfun\/step-3|mistralai\/magistral)/i
/** Families without a single model that reasons: nobody would read the effort. */
const PLAIN_FAMILY =
  /^(?:meta(?:-llama)?\/|google\/gem(?:ma|ini-(?:1|2\.0))|cohere\/|microsoft\/phi-[34](?!.*reasoning)|mistralai\/(?!magistral|mistral-(?:small|medium))|openai\/gpt-(?:3|4)|anthropic\/claude-(?:2|3(?!\.7|-7))|qwen\/qwen-?2|moonshotai\/kimi-k2(?![.-](?:[5-9]|thinking)))/i

const AGGREGATORS = new Set(['openrouter', 'nous', 'ai-gateway'])

const isAggregator = ({ provider, baseUrl }: ModelEndpoint): boolean =>
  AGGREGATORS.has(provider) || hostname(baseUrl) === 'openrouter.ai'

/** OpenRouter translates one object for all families. */
const throughAggregator = ({ provider, model, effort }: ModelEndpoint): JsonObject => {
  if (PLAIN_FAMILY.test(model)) return {}
  if (effort === 'none') return provider === 'nous' ? {} : { reasoning: { enabled: false } }
  if (effort === undefined && !REASONING_FAMILY.test(model)) return {}
  return { reasoning: { enabled: true, effort: effort ?? 'medium' } }
}

/** Request fields for the configured effort; none when the model decides, or cannot be told. */
export const chatEffort = (endpoint: ModelEndpoint): JsonObject => {
  if (isAggregator(endpoint)) return throughAggregator(endpoint)
  const { provider, model, baseUrl, effort } = endpoint
  if (effort === undefined) return {}
  const server = `${provider} ${hostname(baseUrl)}`
  const row = ROWS.find(
    ({ hosts, models }) => (hosts?.test(server) ?? true) && (models?.test(model) ?? true),
  )
  return row?.say(effort, model) ?? {}
}
