/**
 * Which answer of a provider means what. One table: the first row of which everything holds decides. What the server names
 * (status, code, parameter) comes before the words of its sentence, because a sentence may quote the conversation.
 */
import type { FailureKind } from './failure-kinds.ts'

export type Evidence = {
  status: number | undefined
  /** The server's names of the error, in lower case. */
  codes: readonly string[]
  param: string | undefined
  /** The sentence without what it quotes. */
  words: string
  /** A web page instead of an API's answer. */
  isPage: boolean
  /** Cloudflare wants a browser (`cf-mitigated: challenge`). */
  isChallenge: boolean
  /** The server says when to come back. */
  hasRetryAfter: boolean
}

type Row = {
  kind: FailureKind
  /** The documentation, or the thread with the answer as it was seen. */
  source: string
  /** `none`: the error has no status. */
  status?: readonly (number | 'none')[] | '4xx' | '5xx' | 'any error'
  /** One of them is a name of the error. */
  codes?: readonly string[]
  /** The only name of the error is one of these numbers, which other providers use for something else beside a name. */
  number?: readonly number[]
  param?: RegExp
  words?: RegExp
  /** Does not hold with these words. */
  unless?: RegExp
  isPage?: true
  isChallenge?: true
  hasRetryAfter?: true
}

const OPENAI = 'https://platform.openai.com/docs/guides/error-codes'
const ANTHROPIC = 'https://platform.claude.com/docs/en/api/errors'
const ANTHROPIC_LIMITS = 'https://platform.claude.com/docs/en/api/rate-limits'
const GEMINI = 'https://ai.google.dev/gemini-api/docs/troubleshooting'
const AZURE =
  'https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter#error-codes'
const BEDROCK =
  'https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html'
const OPENROUTER = 'https://openrouter.ai/docs/api_reference/errors-and-debugging'
const OPENROUTER_LIMITS = 'https://openrouter.ai/docs/api_reference/limits'
const MISTRAL = 'https://docs.mistral.ai/resources/error-glossary'
const GROQ = 'https://console.groq.com/docs/errors'
const TOGETHER = 'https://docs.together.ai/docs/error-codes'
const FIREWORKS = 'https://docs.fireworks.ai/guides/inference-error-codes'
const DEEPSEEK = 'https://api-docs.deepseek.com/quick_start/error_codes'
const MOONSHOT = 'https://platform.moonshot.ai/docs/api/chat#error-codes'
const ZAI = 'https://docs.z.ai/api-reference/api-code'
const MINIMAX = 'https://platform.minimax.io/docs/api-reference/errorcode'
const DASHSCOPE = 'https://www.alibabacloud.com/help/en/model-studio/error-code'
const XAI = 'https://docs.x.ai/docs/key-information/debugging'
const NOVITA = 'https://novita.ai/docs/api-reference/basic-error-code'
const CLOUDFLARE =
  'https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/'
const WORKERS_AI = 'https://developers.cloudflare.com/workers-ai/platform/errors/'
const LITELLM = 'https://docs.litellm.ai/docs/exception_mapping'
const VLLM = 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server/'
const LLAMA_CPP = 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md'
const OLLAMA = 'https://github.com/ollama/ollama/blob/main/docs/faq.mdx'
const LM_STUDIO = 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1057'
const TGI = 'https://huggingface.co/docs/text-generation-inference/reference/api_reference'
const HUGGING_FACE = 'https://huggingface.co/docs/inference-providers/index'
const HTTP = 'https://www.rfc-editor.org/rfc/rfc9110#name-status-codes'

const CREDIT =
  /insufficient[_ ](?:credit|quota|balance|funds)|credit balance|credits? (?:exhausted|depleted|limit)|out of credits?|(?:no|not enough) (?:credits?|balance|funds)|quota[_ ]exceeded|exceeded your current quota|billing|payment required|account is suspended/i
const LIMIT =
  /key limit|spending (?:limit|cap)|usage[_ ]limit|(?:daily|weekly|monthly) (?:limit|quota|allocation)|(?:api|budget) (?:usage limits?|has been exceeded)|allocation of [\d,]+ neurons/i
const QUOTA = new RegExp(`${CREDIT.source}|${LIMIT.source}`, 'i')
/** A limit that ends by itself. */
const PASSES =
  /try again (?:in|at|after)|retry (?:in|after)|resets? (?:at|in|on)|per (?:minute|hour|day)|temporar/i
const RATE =
  /rate[ _-]?limit|too many requests|requests per|tokens per|throttl|slow down|concurrency limit/i
/** The sentence is about a limit, and does not only have such words in it. */
const RATE_FIRST = /^\W*(?:error: )?(?:\w+ ){0,3}(?:rate[ _-]?limit|too many requests|throttl)/i
const WINDOW =
  /context[_ ](?:length|window|size)|maximum context|context limit|prompt is too long|input is too long|too many input tokens|maximum prompt length|exceeded model token limit|input token count|tokens? \+ \W?max_new_tokens\W? must be|\binputs?\W? must have less than|token count \+ max_tokens/i
const OVERFLOW = new RegExp(
  `${WINDOW.source}|max(?:imum)?[_ ]tokens? exceeded|too many tokens|exceeds? the (?:model'?s? )?(?:limit|maximum|context)|reduce the length|request too large|payload too large|(?:prompt|input) exceeds max|range of input length`,
  'i',
)
const FILTERED =
  /content[_ ](?:filter|management policy|moderation)|content filtering|flagged (?:by moderation|as potentially violating)|input was flagged|(?:violat\w+|against) .{0,40}(?:content|usage) (?:polic|guideline)|ResponsibleAIPolicy|prohibited_content|rejected .{0,30}safety system|inappropriate content|content exists risk/i
const REGION =
  /country, region,? or territory|(?:user )?location is not supported|not (?:available|supported) in your (?:country|region|location)|unsupported (?:country|region)/i
const AUTH =
  /unauthorized|authentication|invalid[_ ](?:x-)?api[_ -]?key|incorrect api key|api key not valid|no cookie auth credentials|permission denied|forbidden|missing api key/i
/** The sentence is about the key, and does not only have such words in it. */
const KEY =
  /^\W*(?:error: )?(?:(?:incorrect|invalid|missing|no|wrong) (?:x-)?api[ _-]?key|(?:the |your )?api[ _-]?key (?:not valid|is (?:invalid|missing|expired)|expired)|no cookie auth credentials)/i
const MODEL =
  /model[_ ]not[_ ]found|no such model|unknown model|invalid model|not a valid model|model .{0,80}(?:(?:does )?not exist|not found|is not available|not supported|decommissioned|deprecated)|no endpoints found/i
/** Something that the model cannot do. */
const OF_A_FEATURE =
  /parameter|argument|tools?\b|stream|role|image|audio|effort|thinking|reasoning/i
/** A 404 about a model, and not about a path. */
const NAMES_MODEL = /\bmodels?\b|deployment|no endpoints found|\bengine\b/i
const NO_SUCH_PATH =
  /unexpected endpoint or method|invalid url|cannot post|unknown (?:url|path|endpoint|route)|(?:page|path|route|url|endpoint) (?:.{0,60} )?(?:not found|does not exist)|http request was sent to https|no (?:matching )?route/i
const MEMORY =
  /requires? more (?:system |gpu |video )?memory|out of memory|insufficient (?:system )?(?:resources|memory)|not enough (?:gpu |system |video )?memory/i
const LOADING =
  /loading (?:the )?model|(?:model|server) .{0,80}(?:is )?(?:still |currently )?(?:loading|starting up|warming up)|model is not ready/i
const NOT_LOADED = /(?:error|fail\w*) (?:while |when )?(?:to load|loading)/i
const UNLOADED =
  /\bmodel\b.{0,60}(?:crashed|unloaded)|no models? (?:is |are )?(?:currently )?loaded|model (?:is )?not loaded|(?:failed to load|error loading) (?:the )?model/i
const BUSY = /overloaded|server (?:is )?busy|capacity/i
/** Without a status, also words that a page of an error has. */
const OVERLOADED = /overloaded|server (?:is )?busy|capacity|unavailable|try again later/i
const UNPARSED =
  /^.{0,60}(?:failed to (?:call a function|parse (?:input|tool|function))|error parsing tool call)/i
/** Ollama dropped the question with the start of a prompt that was too long. */
const QUESTION_DROPPED = /no user query found in messages/i
/** The requested output does not fit next to the prompt. The conversation is not too long. */
const ANSWER_TOO_LONG = /max_(?:completion_|output_)?tokens\W.{0,60}too large/i
/** A place in the conversation, which the sentence may quote. */
const PART_OF_PROMPT = /^(?:body\.)?(?:messages|input|contents|prompt|system)\b./
const CHALLENGE =
  /just a moment|attention required|cloudflare.{0,40}(?:block|denied)|access denied/i

// biome-ignore format: one line per row, to be read as a table
export const ROWS: readonly Row[] = [
  // Something in between, or another place.
  { kind: 'blocked', isChallenge: true, source: CLOUDFLARE },
  { kind: 'blocked', status: [403, 429, 503], isPage: true, words: CHALLENGE, source: CLOUDFLARE },
  { kind: 'blocked', status: [403], isPage: true, source: HTTP },
  { kind: 'blocked', status: [403], words: /^error code: 1\d{3}$/i, source: 'https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/' },
  { kind: 'blocked', status: [407], source: HTTP },
  { kind: 'wrong_address', status: [404, 405], isPage: true, source: VLLM },
  { kind: 'wrong_address', status: [405, 421, 426], source: FIREWORKS },
  { kind: 'wrong_address', status: [400, 404], words: NO_SUCH_PATH, unless: /\bmodel\b/i, source: OPENAI },
  { kind: 'wrong_address', status: ['none'], words: /^unexpected endpoint or method/i, source: 'https://lmstudio.ai/docs/developer/openai-compat' },
  { kind: 'region', codes: ['unsupported_country_region_territory', 'unsupported_country', 'unsupported_region'], source: OPENAI },
  { kind: 'region', status: [451], source: HTTP },
  { kind: 'region', status: [400, 403], words: REGION, source: GEMINI },

  // Money.
  { kind: 'rate_limit', codes: ['openrouter_in_flight_budget', 'in_flight_budget_exhausted'], source: OPENROUTER_LIMITS },
  { kind: 'spending_limit', codes: ['openrouter_guardrail_budget', 'openrouter_workspace_budget', 'openrouter_key_limit'], source: OPENROUTER_LIMITS },
  { kind: 'spending_limit', codes: ['enforced_spend_limit_reached'], source: ANTHROPIC_LIMITS },
  { kind: 'spending_limit', codes: ['usage_limit_reached', 'usage_not_included'], source: 'https://github.com/openai/codex' },
  { kind: 'spending_limit', codes: ['budget_exceeded', 'budgetexceedederror'], source: LITELLM },
  { kind: 'rate_limit', codes: ['insufficient_quota'], status: [429], words: /aliyun\.com|alibabacloud\.com/i, source: DASHSCOPE },
  { kind: 'no_credit', codes: ['throttling.allocationquota'], words: /free allocated quota/i, source: DASHSCOPE },
  { kind: 'no_credit', codes: ['insufficient_quota', 'credit_balance_exhausted', 'billing_hard_limit_reached', 'billing_not_active'], source: OPENAI },
  { kind: 'no_credit', codes: ['billing_error'], source: ANTHROPIC },
  { kind: 'no_credit', codes: ['exceeded_current_quota_error'], source: MOONSHOT },
  { kind: 'no_credit', codes: ['arrearage', 'allocationquota.freetieronly'], source: DASHSCOPE },
  { kind: 'no_credit', codes: ['not_enough_balance', 'billing_balance_not_enough'], source: NOVITA },
  { kind: 'no_credit', codes: ['insufficient_balance', 'insufficient_balance_error', 'insufficient_credits', 'insufficient_credit', 'payment_required', 'openrouter_credits'], source: OPENROUTER },
  { kind: 'no_credit', codes: ['base_resp.1008'], source: MINIMAX },
  { kind: 'no_credit', number: [1113, 1309], source: ZAI },
  { kind: 'spending_limit', number: [1304, 1308, 1310, 1313], source: ZAI },
  { kind: 'spending_limit', codes: ['3036'], source: WORKERS_AI },
  { kind: 'rate_limit', status: [402], hasRetryAfter: true, source: OPENROUTER },
  { kind: 'rate_limit', status: [402], words: new RegExp(`(?:${QUOTA.source})[\\s\\S]*(?:${PASSES.source})`, 'i'), source: OPENROUTER },
  { kind: 'no_credit', status: [402], source: DEEPSEEK },
  { kind: 'no_credit', status: [412], words: /suspend|billing|payment|spend|credit/i, source: FIREWORKS },

  // What was asked.
  { kind: 'content_refused', codes: ['content_filter', 'content_policy_violation', 'contentpolicyviolationerror', 'responsibleaipolicyviolation', 'moderation_blocked'], source: AZURE },
  { kind: 'content_refused', codes: ['data_inspection_failed', 'datainspectionfailed'], source: DASHSCOPE },
  { kind: 'content_refused', codes: ['safety_check_failed', 'prohibited_content', 'safety'], source: GEMINI },
  { kind: 'content_refused', codes: ['base_resp.1026', 'base_resp.1027'], source: MINIMAX },
  { kind: 'content_refused', number: [1300, 1301], source: ZAI },
  { kind: 'unparsed_call', codes: ['tool_use_failed'], source: GROQ },
  { kind: 'unparsed_call', words: UNPARSED, source: GROQ },
  { kind: 'overflow', codes: ['context_length_exceeded', 'string_above_max_length', 'context_window_exceeded', 'model_context_window_exceeded', 'prompt_too_long', 'tokens_limit_reached'], source: OPENAI },
  { kind: 'overflow', codes: ['exceed_context_size_error'], source: LLAMA_CPP },
  { kind: 'overflow', codes: ['contextwindowexceedederror'], source: LITELLM },
  { kind: 'overflow', codes: ['base_resp.1039'], source: MINIMAX },
  { kind: 'overflow', codes: ['3051'], source: MISTRAL },
  { kind: 'overflow', number: [1261], source: ZAI },
  { kind: 'overflow', param: /^input_tokens$/, status: [400], source: VLLM },
  { kind: 'overflow', status: [413], source: GROQ },
  { kind: 'overflow', status: [429], words: /^\W*request too large/i, source: OPENAI },
  { kind: 'refused_request', status: [400], words: ANSWER_TOO_LONG, source: VLLM },
  { kind: 'refused_request', status: [400, 422], param: /^max_(?:completion_|output_)?tokens$/, source: OPENAI },
  { kind: 'refused_request', status: [400, 422], param: PART_OF_PROMPT, unless: WINDOW, source: OPENAI },

  // The model and its server.
  { kind: 'unknown_model', codes: ['model_not_found', 'model_not_available', 'model_decommissioned', 'unknown_model', 'invalid_model', 'modelnotfound', 'deploymentnotfound', 'modelnotsupported'], source: GROQ },
  { kind: 'unknown_model', number: [1211, 1221, 1222], source: ZAI },
  { kind: 'unknown_model', codes: ['1500', '5007', '3042'], source: WORKERS_AI },
  { kind: 'loading', codes: ['modelnotreadyexception', 'model_loading'], source: BEDROCK },
  { kind: 'memory', words: MEMORY, source: OLLAMA },
  { kind: 'loading', status: [503], words: LOADING, unless: NOT_LOADED, source: LLAMA_CPP },
  { kind: 'loading', status: [400, 409, 425, 429, 500, 'none'], words: LOADING, unless: NOT_LOADED, source: HUGGING_FACE },
  { kind: 'unloaded', words: UNLOADED, source: LM_STUDIO },

  // Limits that pass.
  { kind: 'spending_limit', status: [429], words: /PerDay|per-day/, source: GEMINI },
  { kind: 'spending_limit', status: [429], codes: ['perday'], source: GEMINI },
  { kind: 'rate_limit', codes: ['throttling', 'throttling.ratequota', 'throttling.burstrate', 'throttling.allocationquota', 'limitrequests', 'limit_requests', 'limit_burst_rate'], source: DASHSCOPE },
  { kind: 'rate_limit', codes: ['throttlingexception', 'servicequotaexceededexception', 'toomanyrequestsexception'], source: BEDROCK },
  { kind: 'rate_limit', codes: ['rate_limit_reached_error', 'engine_overloaded_error'], status: [429], source: MOONSHOT },
  { kind: 'rate_limit', codes: ['base_resp.1002', 'base_resp.1041'], source: MINIMAX },
  { kind: 'rate_limit', codes: ['3505', 'service_tier_capacity_exceeded', 'rate_limited'], source: MISTRAL },
  { kind: 'rate_limit', status: [498], source: 'https://console.groq.com/docs/flex-processing' },
  { kind: 'rate_limit', number: [1302, 1303, 1305, 1312], source: ZAI },
  { kind: 'spending_limit', status: [400, 403, 429], words: LIMIT, unless: PASSES, source: ANTHROPIC_LIMITS },
  { kind: 'no_credit', status: [400, 403, 429], words: CREDIT, unless: PASSES, source: OPENAI },
  { kind: 'spending_limit', status: [400, 403], words: LIMIT, source: ANTHROPIC_LIMITS },
  { kind: 'no_credit', status: [400, 403], words: CREDIT, source: ANTHROPIC },

  // The key.
  { kind: 'auth', codes: ['api_key_invalid', 'api_key_service_blocked', 'unauthenticated'], source: GEMINI },
  { kind: 'auth', codes: ['invalid_api_key', 'invalidapikey', 'incorrect_api_key'], source: OPENAI },
  { kind: 'auth', codes: ['unrecognizedclientexception', 'invalidsignatureexception', 'expiredtokenexception', 'accessdeniedexception', 'notauthorized'], source: BEDROCK },
  { kind: 'auth', codes: ['organization_restricted'], source: GROQ },
  { kind: 'auth', codes: ['ftuformnotfilled'], source: BEDROCK },
  { kind: 'auth', codes: ['base_resp.1004', 'base_resp.2049'], source: MINIMAX },
  { kind: 'auth', number: [1000, 1001, 1002, 1003, 1004, 1110, 1111, 1112, 1121, 1220, 1311], source: ZAI },
  { kind: 'content_refused', status: [400, 403], words: FILTERED, source: XAI },
  { kind: 'overflow', status: [403], words: WINDOW, source: TOGETHER },
  { kind: 'region', status: [403], codes: ['forbidden'], words: /^request not allowed$/i, source: 'https://www.anthropic.com/supported-countries' },
  { kind: 'auth', status: [401, 403], source: ANTHROPIC },

  // What a status says by itself.
  { kind: 'unknown_model', status: [404, 410], param: /^model$/, source: MISTRAL },
  { kind: 'unknown_model', status: [404, 410], words: NAMES_MODEL, source: OLLAMA },
  { kind: 'wrong_address', status: [404, 410], source: VLLM },
  { kind: 'overflow', words: QUESTION_DROPPED, source: OLLAMA },
  { kind: 'rate_limit', status: [429], source: HTTP },
  { kind: 'server_error', status: [424], codes: ['generation', 'incomplete_generation'], source: TGI },
  { kind: 'refused_request', words: /physical batch size/i, source: LLAMA_CPP },
  { kind: 'server_error', codes: ['modelerrorexception', 'modelstreamerrorexception', 'modeltimeoutexception'], source: BEDROCK },
  { kind: 'overflow', status: '4xx', words: OVERFLOW, source: TGI },
  { kind: 'overflow', status: ['none'], words: OVERFLOW, source: TGI },
  { kind: 'overflow', status: '5xx', words: WINDOW, source: OLLAMA },
  { kind: 'refused_request', codes: ['unsupported_parameter', 'unknown_parameter', 'unsupported_value', 'invalid_value', 'invalid_type', 'missing_required_parameter'], source: OPENAI },

  // Words only.
  { kind: 'no_credit', status: ['none'], words: CREDIT, source: OPENAI },
  { kind: 'spending_limit', status: ['none'], words: LIMIT, source: OPENAI },
  { kind: 'rate_limit', status: [400, 422], words: RATE_FIRST, source: BEDROCK },
  { kind: 'rate_limit', status: [406, 408, 409, 418, 420, 430, 434, 449], words: RATE, source: HTTP },
  { kind: 'rate_limit', status: ['none'], words: RATE, source: OPENAI },
  { kind: 'auth', status: ['none'], words: AUTH, source: OPENAI },
  { kind: 'auth', status: [400], words: KEY, source: XAI },
  { kind: 'unknown_model', status: [400], param: /^model$/, source: OPENAI },
  { kind: 'unknown_model', status: '4xx', words: MODEL, unless: OF_A_FEATURE, source: LITELLM },
  { kind: 'unknown_model', status: ['none'], words: MODEL, source: LITELLM },
  { kind: 'server_error', status: [408, 409, 425, 499], source: ANTHROPIC },
  { kind: 'overloaded', status: [503, 529], source: ANTHROPIC },
  { kind: 'overloaded', status: '5xx', words: BUSY, source: ANTHROPIC },
  { kind: 'server_error', status: '5xx', source: HTTP },
  { kind: 'overloaded', status: ['none'], words: OVERLOADED, source: ANTHROPIC },
  { kind: 'refused_request', status: 'any error', source: HTTP },
]

const hasStatus = (statuses: NonNullable<Row['status']>, status: number | undefined): boolean => {
  if (typeof statuses !== 'string') return statuses.includes(status ?? 'none')
  if (status === undefined) return false
  if (statuses === '4xx') return status >= 400 && status < 500
  return statuses === '5xx' ? status >= 500 : status >= 300
}

const holds = (row: Row, evidence: Evidence): boolean =>
  (!row.status || hasStatus(row.status, evidence.status)) &&
  (!row.codes || row.codes.some(code => evidence.codes.includes(code))) &&
  (!row.number ||
    (evidence.codes.length === 1 && row.number.includes(Number(evidence.codes[0])))) &&
  (!row.param || row.param.test(evidence.param ?? '')) &&
  (!row.words || row.words.test(evidence.words)) &&
  !row.unless?.test(evidence.words) &&
  (!row.isPage || evidence.isPage) &&
  (!row.isChallenge || evidence.isChallenge) &&
  (!row.hasRetryAfter || evidence.hasRetryAfter)

export const kindOf = (evidence: Evidence): FailureKind =>
  ROWS.find(row => holds(row, evidence))?.kind ?? 'odd'
