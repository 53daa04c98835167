/**
 * Answers of real servers to a request, and what has to come of each: the kind (which carries type, advice, and repeats).
 * Sources: `source` of the rows in `lib/agent/failure-rows.ts`.
 */
import { gzipSync } from 'node:zlib'
import type { FailureKind } from '../../../lib/agent/failure-kinds.ts'
import type { Step } from '../../_provider.ts'

/** `attempts`: other than what the kind says. `resetMs`: when a limit ends. */
export type FailureCase = {
  step: Step
  kind: FailureKind
  attempts?: number
  resetMs?: number
  /** The failure's code and parameter. */
  code?: string
  param?: string
}

export const NOW = Date.parse('2026-01-01T00:00:00Z')

const answer = (status: number, body: unknown, headers: Record<string, string> = {}): Step => ({
  status,
  body,
  headers,
})
const error = (status: number, fields: object, headers?: Record<string, string>) =>
  answer(status, { error: fields }, headers)
const page = (status: number, title: string, headers: Record<string, string> = {}) =>
  answer(status, `<!DOCTYPE html><html><head><title>${title}</title></head></html>`, {
    'content-type': 'text/html',
    ...headers,
  })
const sse = (...events: unknown[]): Step => ({
  raw: events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''),
})

// biome-ignore format: one line per case, to be read as a table
export const CASES: Readonly<Record<string, FailureCase>> = {
  // Money.
  'OpenRouter: budget of running requests': { step: error(402, { code: 402, message: 'Your in-flight budget is exhausted.', metadata: { limit_source: 'openrouter_in_flight_budget' } }, { 'retry-after': '3' }), kind: 'rate_limit', attempts: 14, code: 'openrouter_in_flight_budget' },
  'OpenRouter: the same without a header': { step: error(402, { code: 402, message: 'Insufficient credits for running requests.', metadata: { limit_source: 'openrouter_in_flight_budget' } }), kind: 'rate_limit' },
  'OpenRouter: no credit': { step: error(402, { code: 402, message: 'Insufficient credits. Add more and try again.', metadata: { limit_source: 'openrouter_credits' } }), kind: 'no_credit' },
  'a 402 with Retry-After': { step: error(402, { message: 'Payment required' }, { 'retry-after': '3' }), kind: 'rate_limit', attempts: 14 },
  'DeepSeek: balance': { step: error(402, { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' }), kind: 'no_credit' },
  'OpenRouter: budget of a guardrail': { step: error(403, { code: 403, message: 'Budget limit exceeded', metadata: { limit_source: 'openrouter_guardrail_budget', resets_at: '2026-01-01T03:00:00Z' } }), kind: 'spending_limit', resetMs: 10_800_000 },
  'OpenRouter: limit of a key': { step: error(403, { code: 403, message: 'Key limit exceeded', metadata: { limit_source: 'openrouter_key_limit' } }), kind: 'spending_limit' },
  'Anthropic: cap of the tier': { step: answer(429, { type: 'error', error: { type: 'rate_limit_error', message: 'You have reached your API usage limits. You will regain access on 2026-01-02 at 00:00 UTC.', details: { error_code: 'enforced_spend_limit_reached' } } }), kind: 'spending_limit', resetMs: 86_400_000 },
  'Anthropic: own limit': { step: answer(400, { type: 'error', error: { type: 'invalid_request_error', message: 'You have reached your specified workspace API usage limits. You will regain access on 2026-01-02 at 00:00 UTC.' } }), kind: 'spending_limit', resetMs: 86_400_000 },
  'Anthropic: balance': { step: answer(400, { type: 'error', error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the Anthropic API.' } }), kind: 'no_credit' },
  'OpenAI: quota': { step: error(429, { message: 'You exceeded your current quota, please check your plan and billing details.', type: 'insufficient_quota', param: null, code: 'insufficient_quota' }), kind: 'no_credit', code: 'insufficient_quota' },
  'OpenAI: balance': { step: error(429, { message: 'Sorry.', type: 'insufficient_quota', code: 'credit_balance_exhausted' }), kind: 'no_credit' },
  'ChatGPT plan': { step: error(429, { type: 'usage_limit_reached', message: 'The usage limit has been reached', resets_at: NOW / 1_000 + 7_200 }), kind: 'spending_limit', resetMs: 7_200_000 },
  'z.ai 1113': { step: error(429, { code: '1113', message: '余额不足或无可用资源包,请充值。' }), kind: 'no_credit', code: '1113' },
  'z.ai 1309': { step: error(429, { code: '1309', message: 'Your GLM Coding Plan has expired.' }), kind: 'no_credit' },
  'z.ai 1308': { step: error(429, { code: '1308', message: 'Usage limit reached for 5 hours. Your limit will reset at 2026-01-01 05:00:00' }), kind: 'spending_limit' },
  'Moonshot: quota': { step: error(429, { type: 'exceeded_current_quota_error', message: 'Your account is suspended due to insufficient balance' }), kind: 'no_credit' },
  'DashScope: arrears': { step: error(400, { code: 'Arrearage', type: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' }), kind: 'no_credit' },
  'DashScope: free quota': { step: error(403, { code: 'AllocationQuota.FreeTierOnly', message: 'The free tier of the model has been exhausted.' }), kind: 'no_credit' },
  'Fireworks: suspended': { step: error(412, { message: 'Account is suspended, possibly due to reaching the monthly spending limit.' }), kind: 'no_credit' },
  'LiteLLM: budget': { step: error(400, { message: 'Budget has been exceeded! Current cost: 10.2, Max budget: 10.0', type: 'budget_exceeded', code: '400' }), kind: 'spending_limit' },
  'LiteLLM: the error of Anthropic in its sentence': { step: error(400, { message: 'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}', type: null, code: '400' }), kind: 'no_credit' },
  'Novita: balance': { step: answer(403, { code: 403, reason: 'NOT_ENOUGH_BALANCE', message: 'not enough balance' }), kind: 'no_credit' },
  'Workers AI: allocation of the day': { step: answer(429, { errors: [{ code: 3036, message: 'You have used up your daily free allocation of 10,000 neurons.' }] }), kind: 'spending_limit' },
  'MiniMax 1008 with status 200': { step: answer(200, { base_resp: { status_code: 1008, status_msg: 'insufficient balance' } }), kind: 'no_credit' },
  'Gemini: quota of the day': { step: answer(429, [{ error: { code: 429, message: 'You exceeded your current quota. Please retry in 34s.', status: 'RESOURCE_EXHAUSTED', details: [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] }] } }]), kind: 'spending_limit' },

  'Kimi Code: limit of the plan': { step: error(403, { type: 'access_terminated_error', message: "You've reached your usage limit for this billing cycle." }), kind: 'spending_limit' },
  'xAI: credits of the team': { step: answer(403, { code: 'forbidden', error: 'Your team has either used all available credits or reached its monthly spending limit.' }), kind: 'spending_limit' },
  'OpenRouter: free models of the day': { step: error(429, { code: 429, message: 'Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day' }), kind: 'spending_limit' },
  'Ollama cloud: limit of the hour': { step: answer(429, { error: "you've reached your hourly usage limit, please upgrade to continue" }), kind: 'spending_limit' },
  'Gemini: prepaid credit': { step: answer(402, [{ error: { code: 402, message: 'Your prepayment credits are depleted.', status: 'RESOURCE_EXHAUSTED' } }]), kind: 'no_credit' },

  // Limits that pass.
  'Gemini: quota of the minute': { step: answer(429, [{ error: { code: 429, message: 'You exceeded your current quota. Please retry in 34s.', status: 'RESOURCE_EXHAUSTED' } }]), kind: 'rate_limit', attempts: 5 },
  'DashScope: tokens per minute': { step: answer(429, { code: 'Throttling.AllocationQuota', message: 'Allocated quota exceeded, please increase your quota limit.' }), kind: 'rate_limit', attempts: 8 },
  'DashScope: the same in the form of OpenAI': { step: error(429, { code: 'insufficient_quota', type: 'insufficient_quota', message: 'You exceeded your current quota. For details, see: https://help.aliyun.com/zh/model-studio/error-code#token-limit' }), kind: 'rate_limit' },
  'DashScope: requests per second': { step: error(429, { code: 'limit_burst_rate', message: 'Request rate increased too quickly.' }), kind: 'rate_limit' },
  'OpenAI: tokens per minute': { step: error(429, { message: 'Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2.1s.', type: 'tokens', code: 'rate_limit_exceeded' }), kind: 'rate_limit', attempts: 14 },
  'OpenAI: too much for one minute': { step: error(429, { message: 'Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 50000.', type: 'tokens', code: 'rate_limit_exceeded' }), kind: 'overflow' },
  'Groq: flex capacity': { step: error(498, { message: 'Flex tier capacity exceeded', type: 'capacity_exceeded' }), kind: 'rate_limit' },
  'Mistral: capacity of the tier': { step: answer(429, { object: 'error', message: 'Service tier capacity exceeded for this model.', type: 'service_tier_capacity_exceeded', param: null, code: '3505' }), kind: 'rate_limit' },
  'Mistral 1300 is not z.ai 1300': { step: answer(429, { object: 'error', message: 'Rate limit exceeded', type: 'rate_limited', param: null, code: '1300' }), kind: 'rate_limit' },
  'z.ai 1302': { step: error(429, { code: '1302', message: '您当前使用该API的并发数过高' }), kind: 'rate_limit' },
  'Bedrock: throttled, named in a header': { step: answer(429, { message: 'Too many tokens, please wait before trying again.' }, { 'x-amzn-errortype': 'ThrottlingException:http://internal.amazon.com/' }), kind: 'rate_limit', code: 'ThrottlingException' },
  'Bedrock: quota of the service': { step: answer(400, { __type: 'com.amazon.coral#ServiceQuotaExceededException', message: 'Your request exceeds the service quota for your account.' }), kind: 'rate_limit' },
  'Moonshot: overloaded': { step: error(429, { type: 'engine_overloaded_error', message: 'The engine is currently overloaded, please try again later' }), kind: 'rate_limit' },
  'MiniMax 1002 with status 200': { step: answer(200, { base_resp: { status_code: 1002, status_msg: 'rate limit' } }), kind: 'rate_limit' },

  // The content.
  'OpenRouter: moderation': { step: error(403, { code: 403, message: 'Your chosen model requires moderation and your input was flagged', metadata: { reasons: ['violence'], flagged_input: 'hello' } }), kind: 'content_refused' },
  'Azure: filter': { step: error(400, { message: 'The response was filtered.', type: null, param: 'prompt', code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } }), kind: 'content_refused', param: 'prompt' },
  'xAI: guidelines': { step: answer(403, { code: 'The caller does not have permission to execute the specified operation', error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO' }), kind: 'content_refused' },
  'DashScope: inspection': { step: error(400, { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' }), kind: 'content_refused' },
  'z.ai 1301': { step: error(400, { code: '1301', message: '系统检测到输入或生成内容可能包含不安全或敏感内容' }), kind: 'content_refused' },
  'OpenAI: flagged prompt': { step: error(400, { code: 'invalid_prompt', type: 'invalid_request_error', message: 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.' }), kind: 'content_refused' },
  'LiteLLM: policy': { step: error(400, { message: 'litellm.ContentPolicyViolationError: AzureException - The response was filtered', code: '400' }), kind: 'content_refused' },

  'DeepSeek: risk': { step: error(400, { message: 'Content Exists Risk', type: 'invalid_request_error', param: null, code: 'invalid_request_error' }), kind: 'content_refused' },
  'Moonshot: high risk': { step: error(400, { type: 'content_filter', message: 'The request was rejected because it was considered high risk' }), kind: 'content_refused' },

  // From here.
  'Cloudflare: challenge': { step: page(403, 'Just a moment...', { 'cf-mitigated': 'challenge' }), kind: 'blocked' },
  'Cloudflare: challenge without its header': { step: page(503, 'Just a moment...'), kind: 'blocked' },
  'a firewall': { step: page(403, 'Web Page Blocked'), kind: 'blocked' },
  'a proxy that wants a password': { step: page(407, 'Proxy Authentication Required'), kind: 'blocked' },
  'OpenAI: region': { step: error(403, { code: 'unsupported_country_region_territory', message: 'Country, region, or territory not supported', param: null, type: 'request_forbidden' }), kind: 'region' },
  'Gemini: region': { step: answer(400, [{ error: { code: 400, message: 'User location is not supported for the API use.', status: 'FAILED_PRECONDITION' } }]), kind: 'region' },
  'Anthropic: region': { step: error(403, { type: 'forbidden', message: 'Request not allowed' }), kind: 'region' },

  'Cloudflare: a rule of the firewall, as text': { step: answer(403, 'error code: 1020'), kind: 'blocked' },
  'Gemini: no free tier in the country': { step: answer(400, [{ error: { code: 400, message: 'Gemini API free tier is not available in your country. Please enable billing on your project.', status: 'FAILED_PRECONDITION' } }]), kind: 'region' },

  // The address.
  'vLLM without /v1': { step: answer(404, { detail: 'Not Found' }), kind: 'wrong_address' },
  'nginx': { step: page(404, '404 Not Found'), kind: 'wrong_address' },
  'llama.cpp without /v1': { step: error(404, { code: 404, message: 'File Not Found', type: 'not_found_error' }), kind: 'wrong_address' },
  'OpenAI: /v1 twice': { step: error(404, { message: 'Invalid URL (POST /v1/v1/chat/completions)', type: 'invalid_request_error', param: null, code: null }), kind: 'wrong_address' },
  'LM Studio without /v1, with status 200': { step: answer(200, { error: 'Unexpected endpoint or method. (POST /chat/completions)' }), kind: 'wrong_address' },
  'Azure: path': { step: error(404, { code: '404', message: 'Resource not found' }), kind: 'wrong_address' },
  '405': { step: answer(405, { detail: 'Method Not Allowed' }), kind: 'wrong_address' },
  'HTTP at a port of HTTPS': { step: answer(400, { message: 'The plain HTTP request was sent to HTTPS port' }), kind: 'wrong_address' },
  'a redirect': { step: answer(308, '', { location: 'https://elsewhere.example/v1' }), kind: 'wrong_address' },
  'a web page with a byte order mark and a comment': { step: { raw: '\ufeff<!-- built by vite --><!doctype html><title>Open WebUI</title>' }, kind: 'wrong_address' },
  'a web page after white space': { step: { raw: '\n\n  <html><title>x</title></html>', portion: 2 }, kind: 'wrong_address' },

  // The model.
  'OpenAI: model': { step: error(404, { message: 'The model `gpt-9` does not exist or you do not have access to it.', type: 'invalid_request_error', param: null, code: 'model_not_found' }), kind: 'unknown_model' },
  'Ollama: model': { step: answer(404, { error: 'model "qwen9" not found, try pulling it first' }), kind: 'unknown_model' },
  'Anthropic: model': { step: answer(404, { type: 'error', error: { type: 'not_found_error', message: 'model: claude-9' } }), kind: 'unknown_model' },
  'Azure: deployment': { step: error(404, { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' }), kind: 'unknown_model' },
  'Groq: decommissioned': { step: error(400, { message: 'The model has been decommissioned.', type: 'invalid_request_error', code: 'model_decommissioned' }), kind: 'unknown_model' },
  'Mistral: model': { step: answer(400, { object: 'error', message: 'Invalid model: mistral-9', type: 'invalid_model', param: null, code: '1500' }), kind: 'unknown_model' },
  'OpenRouter: model': { step: error(404, { code: 404, message: 'No endpoints found for acme/x.' }), kind: 'unknown_model' },
  'z.ai 1211': { step: error(400, { code: '1211', message: '模型不存在，请检查模型代码。' }), kind: 'unknown_model' },

  'DeepSeek: model, with status 400': { step: error(400, { message: 'Model Not Exist', type: 'invalid_request_error', param: null, code: 'invalid_request_error' }), kind: 'unknown_model' },
  'vLLM: model': { step: answer(404, { object: 'error', message: 'The model `x` does not exist.', type: 'NotFoundError', param: 'model', code: 404 }), kind: 'unknown_model' },
  'LiteLLM: model, in Python': { step: error(400, { message: "{'error': '/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view available models.'}", type: 'None', param: 'None', code: '400' }), kind: 'unknown_model' },
  'Fireworks: model': { step: error(404, { object: 'error', type: 'invalid_request_error', code: 'NOT_FOUND', message: 'Model not found, inaccessible, and/or not deployed' }), kind: 'unknown_model' },
  'a parameter that the model does not have is not an unknown model': { step: error(400, { message: 'Model grok-4: parameter presence_penalty is not supported' }), kind: 'refused_request' },

  // The key.
  'OpenAI: key': { step: error(401, { message: 'Incorrect API key provided.', type: 'invalid_request_error', param: null, code: 'invalid_api_key' }), kind: 'auth' },
  'Gemini: key': { step: answer(400, [{ error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } }]), kind: 'auth', code: 'API_KEY_INVALID' },
  'xAI: key': { step: answer(400, { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***xx.' }), kind: 'auth' },
  'Bedrock: no access': { step: answer(403, { message: 'You don\'t have access to the model with the specified model ID.' }, { 'x-amzn-errortype': 'AccessDeniedException' }), kind: 'auth' },
  'z.ai 1002 in a 200': { step: sse({ error: { code: '1002', message: 'Invalid Authentication Token' } }), kind: 'auth' },
  'MiniMax 1004': { step: answer(200, { base_resp: { status_code: 1004, status_msg: 'login fail' } }), kind: 'auth' },

  'Groq: restricted': { step: error(400, { message: 'Organization has been restricted. Please reach out to support', type: 'invalid_request_error', code: 'organization_restricted' }), kind: 'auth' },
  'Bedrock: no form': { step: answer(404, { message: 'Model use case details have not been submitted for this account.' }, { 'x-amzn-errortype': 'FTUFormNotFilled' }), kind: 'auth' },

  // Words that quote the conversation.
  'quoted words about permissions': { step: error(400, { message: 'Invalid \'messages[2].content\': the value "permission denied, invalid api key, rate limit, no such model" string is not allowed', type: 'invalid_request_error', param: 'messages[2].content', code: 'invalid_value' }), kind: 'refused_request', param: 'messages[2].content' },
  'words of the conversation without quotation marks': { step: error(400, { message: "Invalid 'messages[2].content': the words billing, out of memory and no such model are not allowed", type: 'invalid_request_error', param: 'messages[2].content', code: null }), kind: 'refused_request' },
  'quoted words in the input that a validator repeats': { step: answer(422, { detail: [{ type: 'string_type', loc: ['body', 'messages', 0, 'content'], msg: 'Input should be a valid string', input: 'context length exceeded, insufficient credits, unauthorized' }] }), kind: 'refused_request', param: 'messages.0.content' },
  'quoted words in the sentence of a validator': { step: error(400, { message: "[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required', 'input': {'content': 'maximum context length, out of memory, loading model'}}]", type: 'BadRequestError', param: null, code: 400 }), kind: 'refused_request' },
  'quoted words with quotation marks of their own': { step: error(400, { message: 'Invalid value: "he said "maximum context length" and "no such model" to me". Expected a list.' }), kind: 'refused_request' },
  'a quoted name is not a quotation': { step: error(400, { message: "The model 'acme-1' does not exist, and isn't one of 'acme-2'." }), kind: 'unknown_model' },
  'quoted words without an end': { step: error(400, { message: `Expected one of stop, length. Got: "the user said that the server is overloaded and ${'x '.repeat(400)}"` }), kind: 'refused_request' },
  'a 400 about permissions': { step: error(400, { message: 'Field path: permission denied string is not allowed' }), kind: 'refused_request' },

  // The window.
  'OpenAI: window': { step: error(400, { message: 'Too long.', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' }), kind: 'overflow' },
  'Ollama: window': { step: answer(500, { error: 'the input length exceeds the context length' }), kind: 'overflow' },
  'TGI: window': { step: answer(422, { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`', error_type: 'validation' }), kind: 'overflow' },
  'TGI: prompt': { step: answer(422, { error: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000', error_type: 'validation' }), kind: 'overflow' },
  'Together: 403 about tokens': { step: error(403, { message: 'Input token count + max_tokens parameter must be less than the context length of the model being queried.' }), kind: 'overflow' },
  'llama.cpp: window': { step: error(400, { code: 400, message: 'request (9412 tokens) exceeds the available context size (8192 tokens)', type: 'exceed_context_size_error', n_ctx: 8192 }), kind: 'overflow' },
  'vLLM: parameter input_tokens': { step: error(400, { message: 'Too many.', type: 'BadRequestError', param: 'input_tokens', code: 400 }), kind: 'overflow' },
  'z.ai 1261': { step: error(400, { code: '1261', message: 'Prompt 超长' }), kind: 'overflow' },
  'LiteLLM: window': { step: error(400, { message: 'litellm.ContextWindowExceededError: litellm.BadRequestError: too long', code: '400' }), kind: 'overflow' },
  'GitHub Models: body': { step: error(413, { code: 'tokens_limit_reached', message: 'Request body too large for gpt-4o model. Max size: 8000 tokens.' }), kind: 'overflow' },

  'Cohere: tokens': { step: answer(400, { message: 'too many tokens: total number of tokens in the prompt exceeds the limit of 132096' }), kind: 'overflow' },
  'llama.cpp: in the middle of an answer': { step: error(500, { code: 500, message: 'Context size has been exceeded.', type: 'server_error' }), kind: 'overflow' },

  // Servers of one's own.
  'Ollama: memory': { step: answer(500, { error: 'model requires more system memory (12.5 GiB) than is available (7.6 GiB)' }), kind: 'memory' },
  'vLLM: memory': { step: error(500, { message: 'CUDA out of memory. Tried to allocate 2.00 GiB.', type: 'InternalServerError', code: 500 }), kind: 'memory' },
  'LM Studio: memory': { step: error(400, { message: 'Failed to load model "qwen". Error: Model loading was stopped due to insufficient system resources.' }), kind: 'memory' },
  'LM Studio: crashed': { step: answer(400, { error: 'The model has crashed without additional information. (Exit code: 18446744072635812000)' }), kind: 'unloaded', attempts: 4 },
  'LM Studio: unloaded': { step: answer(400, { error: 'Model unloaded.' }), kind: 'unloaded' },
  'LM Studio: nothing is loaded': { step: error(404, { message: "No models loaded. Please load a model in the developer page or use the 'lms load' command.", type: 'invalid_request_error' }), kind: 'unloaded' },
  'LM Studio: cannot load': { step: answer(400, { error: 'Failed to load model "qwen3". Error: Unknown architecture.' }), kind: 'unloaded' },
  'TGI: failed while it wrote': { step: answer(424, { error: 'Request failed during generation: Server error: CUDA error', error_type: 'generation' }), kind: 'server_error' },
  'TGI: overloaded': { step: answer(429, { error: 'Model is overloaded', error_type: 'overloaded' }), kind: 'rate_limit' },
  'llama.cpp: batch': { step: error(500, { code: 500, message: 'input is too large to process. increase the physical batch size', type: 'server_error' }), kind: 'refused_request' },
  'llama.cpp: loading': { step: error(503, { code: 503, message: 'Loading model', type: 'unavailable_error' }), kind: 'loading', attempts: 120 },
  'Hugging Face: loading': { step: answer(503, { error: 'Model acme/x is currently loading', estimated_time: 20 }), kind: 'loading' },
  'Bedrock: not ready': { step: answer(429, { message: 'The model is not ready.' }, { 'x-amzn-errortype': 'ModelNotReadyException' }), kind: 'loading' },
  'Ollama: busy': { step: answer(503, { error: 'server busy, please try again. maximum pending requests exceeded' }), kind: 'overloaded' },
  'llama.cpp: an unreadable call': { step: error(500, { code: 500, message: 'Failed to parse input at pos 12: <tool_call> rate limit, out of memory', type: 'server_error' }), kind: 'unparsed_call' },

  // Trouble at the provider.
  'a gateway: overloaded': { step: error(502, { message: 'The server is overloaded' }), kind: 'overloaded', attempts: 6 },
  'Anthropic: overloaded': { step: answer(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }), kind: 'overloaded', attempts: 6 },
  'Anthropic: conflict': { step: answer(409, { type: 'error', error: { type: 'conflict_error', message: 'Try again.' } }), kind: 'server_error', attempts: 4 },
  'Bedrock: the model failed': { step: answer(424, { message: 'The model returned an error.' }, { 'x-amzn-errortype': 'ModelErrorException' }), kind: 'server_error' },
  'Cloudflare: time-out': { step: page(524, 'A timeout occurred'), kind: 'server_error' },
  'errors in a list': { step: answer(500, { errors: [{ message: 'upstream failed' }] }), kind: 'server_error' },
  'errors in a list with status 200': { step: answer(200, { errors: [{ message: 'upstream failed' }] }), kind: 'odd' },
  'Groq: an error in a chunk': { step: sse({ choices: [{ index: 0, delta: { content: 'Half' }, finish_reason: null }] }, { x_groq: { id: 'r', error: 'internal failure' }, choices: [] }), kind: 'odd', attempts: 6 },
  'llama.cpp, older: an error in a field of its own': { step: { raw: 'error: {"code":500,"message":"Context size has been exceeded.","type":"server_error"}\n\n' }, kind: 'overflow' },
  'an error event without its frame': { step: { raw: 'event: error\ndata: {"type":"overloaded_error","message":"Overloaded"}\n\n' }, kind: 'overloaded' },
  'z.ai: a refused key with status 200': { step: answer(200, { code: 401, msg: 'token expired or incorrect', success: false }), kind: 'auth' },
  'DashScope: a refused key with status 200': { step: answer(200, { code: 'InvalidApiKey', message: 'Invalid API-key provided.', request_id: 'r' }), kind: 'auth' },
  'an error compressed as x-gzip': { step: answer(402, gzipSync('{"error":{"message":"Insufficient Balance"}}'), { 'content-encoding': 'x-gzip' }), kind: 'no_credit' },
}
