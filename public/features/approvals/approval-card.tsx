/** Approval card: the command, folder and reason, with up to four answers; Enter allows once, Esc denies. */
import { isComposing } from '../../parts/composing.ts'
import { useSignal } from '@preact/signals'
import { placeOf } from '../../../lib/base/network-key.ts'
import { whyAsked } from './stake-strings.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Approval, ApprovalChoice } from '../../../lib/schema/question.ts'
import { CodeText } from '../../markdown/code.tsx'
import { t } from './strings.ts'
import { BidiSafeCode, hasRtlText } from './bidi-safe-code.tsx'
import type { ServerClock } from '../../parts/server-clock.ts'
import { type FileDiff, parseDiff } from '../../parts/diff.ts'
import { DiffCounts } from '../../parts/diff-counts.tsx'
import { Diff } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import { RuleForm } from './rule-form.tsx'
import { may } from '../../parts/may.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { useReadToEnd, ReadToEndBox } from './read-to-end.tsx'
import { AnswerNote } from './answer-note.tsx'
import { answerState, writeAnswer, writtenAnswer } from './answer.ts'
import type { RuleAnswer } from '../messages/transcript-context.ts'

/** Keys are ignored for this long after the card appears, and after a press that was meant for something else: a message is often sent with two. */
const QUIET_MS = 1_000

const isTyping = (element: Element | null): boolean =>
  (element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement) &&
  element.value !== ''

/** Enter and Esc answer the card only while no other element uses them. */
const isFree = (card: HTMLElement): boolean => {
  const active = document.activeElement
  if (document.querySelector('dialog[open], :popover-open')) return false
  // Of two chats side by side, the keys answer the active one.
  if (card.closest('.side:not(.side-active)')) return false
  if (active && card.contains(active)) return !(active instanceof HTMLButtonElement)
  return (
    !active ||
    active === document.body ||
    (active instanceof HTMLTextAreaElement && !isTyping(active))
  )
}

export type RuleFormProps = {
  approval: Approval
  disabled: boolean
  onAllow: (rule: RuleAnswer) => void
  onBack: () => void
}

export type ApprovalCardProps = {
  approval: Approval
  /** Only the first of several cards listens to keys. */
  keys: boolean
  clock: ServerClock
  onAnswer: (choice: ApprovalChoice, rule?: RuleAnswer) => void
}

export function ApprovalCard({ approval: original, keys, clock, onAnswer }: ApprovalCardProps) {
  // The server already makes invisible characters visible; the card doesn't rely on that.
  const command = visibleText(original.command)
  const approval = { ...original, command }
  const whole = useReadToEnd(command)
  const { isSent, isSettled, words } = answerState(original)
  const unread = useUnread()
  const endSeen = whole.endSeen && unread.first === null
  // The form of a rule that was being written when another chat was shown.
  const isRuling = useSignal(writtenAnswer(original) !== '')
  const isAny = useSignal(false)
  const card = useRef<HTMLElement>(null)
  const always = useRef<HTMLButtonElement>(null)
  const wasRuling = useRef(false)
  useEffect(() => {
    if (wasRuling.current && !isRuling.value) always.current?.focus()
    wasRuling.current = isRuling.value
  }, [isRuling.value])
  const onKey = useRef<(event: KeyboardEvent) => void>(undefined)
  onKey.current = event => {
    // While the rule form is open its keys neither allow nor deny.
    if (isSent || isRuling.value || event.defaultPrevented) return
    event.preventDefault()
    event.stopPropagation()
    const choice = event.key === 'Enter' ? 'once' : 'deny'
    // Enter allows only what was on screen to its end: the command, then each change.
    if (choice === 'once' && !offers('once')) return
    if (choice === 'once' && !whole.endSeen) return whole.advance()
    if (choice === 'once' && unread.first) return unread.first()
    if (choice === 'deny' ? mayAnswer : offers('once')) onAnswer(choice)
  }
  useEffect(() => {
    if (!keys) return
    let isQuiet = false
    let cancel = () => {}
    const wait = () => {
      cancel()
      isQuiet = false
      cancel = clock.timer(QUIET_MS, () => {
        isQuiet = true
      })
    }
    const listen = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' && event.key !== 'Escape') return
      const { repeat, shiftKey, altKey, ctrlKey, metaKey } = event
      const isOther = repeat || isComposing(event) || shiftKey || altKey || ctrlKey || metaKey
      if (isOther || !card.current || !isFree(card.current)) wait()
      else if (isQuiet) onKey.current?.(event)
    }
    const press = (event: PointerEvent) => {
      if (!card.current?.contains(event.target as Node)) wait()
    }
    wait()
    addEventListener('keydown', listen, true)
    addEventListener('pointerdown', press, true)
    return () => {
      cancel()
      removeEventListener('keydown', listen, true)
      removeEventListener('pointerdown', press, true)
    }
  }, [keys])
  const marks = command === original.command ? approval.marks : undefined
  const isBudget = approval.pattern_key.startsWith('budget: ')
  const isOwner = may('POST /api/permissions')
  // A viewer answers nothing, and a member allows neither for good nor what only an owner may.
  const mayAnswer = may('POST /api/approval/respond')
  const mayAllow = mayAnswer && (isOwner || !approval.needs_owner)
  const offers = (choice: ApprovalChoice): boolean =>
    mayAllow &&
    (isOwner || choice !== 'always') &&
    (approval.choices?.includes(choice) ?? true) &&
    !(isBudget && choice === 'always')
  const { any, network } = approval
  const lasts = offers('always') || offers('session')
  const isRule = !isBudget && !any && !network
  const ruleFor = (choice: ApprovalChoice): RuleAnswer | undefined =>
    isAny.value && (choice === 'session' || choice === 'always') ? { any: true } : undefined
  const title = t(network ? 'ask.network' : 'ask.approval')
  const labelOf = (choice: ApprovalChoice) => {
    if (isBudget && choice === 'once') return t('ask.again')
    return t(network && choice === 'always' ? 'ask.always.here' : `ask.${choice}`)
  }
  const covered = () => {
    if (!lasts) return t('ask.covers.once')
    if (network) return t('ask.covers.network')
    if (!any) return t('ask.covers')
    return isAny.value
      ? t(`ask.every.${any.of}`, { name: visibleText(any.name) })
      : t(`ask.shown.${any.of}`)
  }
  const button = (choice: ApprovalChoice, key?: string) => (
    <button
      type="button"
      class={choice === 'once' ? 'ask-button ask-main' : 'ask-button'}
      disabled={isSent}
      ref={choice === 'always' ? always : null}
      onClick={() => {
        if (choice === 'always' && isRule) isRuling.value = true
        else onAnswer(choice, ruleFor(choice))
      }}
      aria-keyshortcuts={key}
    >
      {labelOf(choice)}
      {key && (
        <span class="ask-key" aria-hidden="true">
          {key === 'Enter' ? '↵' : 'esc'}
        </span>
      )}
    </button>
  )
  const { suggested_rule: rule } = approval
  const allowHere = () => rule && onAnswer('always', { rule, scope: 'workspace' })
  return (
    <article class="ask" ref={card} aria-label={title}>
      <h3 class="ask-title">
        <Icon name="shield" /> {title}
      </h3>
      {network && (
        <p class="ask-host" dir="ltr">
          {visibleText(placeOf(network))}
        </p>
      )}
      {approval.runs_in && (
        <p class={`ask-place${approval.runs_in === 'outside' ? ' ask-outside' : ''}`}>
          {t(`ask.in.${approval.runs_in}`)}
        </p>
      )}
      <p class="ask-why" dir="auto">
        {whyAsked(approval) || t('ask.approval.text')}
      </p>
      <ReadToEndBox
        whole={whole}
        more={t('ask.more')}
        keys={keys && offers('once') && !isRuling.value}
      >
        <ScrollBox class="ask-command" label={t('ask.command')}>
          <pre dir="ltr">
            {marks?.length || hasRtlText(command) ? (
              <BidiSafeCode text={command} {...(marks && { marks })} />
            ) : (
              <CodeText text={command} label="bash" />
            )}
          </pre>
        </ScrollBox>
      </ReadToEndBox>
      {approval.diff && <AskedDiff text={approval.diff} onSeen={unread.report} />}
      {approval.cwd && <p class="ask-where">{t('ask.where', { cwd: approval.cwd })}</p>}
      {any && lasts && !isSettled && (
        <label class="ask-any">
          <input
            type="checkbox"
            checked={isAny.value}
            disabled={isSent}
            onChange={event => {
              isAny.value = event.currentTarget.checked
            }}
          />
          {t(`ask.any.${any.of}`)}
        </label>
      )}
      {isSettled ? null : isRuling.value ? (
        <RuleForm
          approval={approval}
          disabled={isSent}
          onAllow={rule => onAnswer('always', rule)}
          onBack={() => {
            writeAnswer(original, '')
            isRuling.value = false
          }}
        />
      ) : (
        <div class="ask-buttons">
          {offers('once') && button('once', keys && endSeen ? 'Enter' : undefined)}
          {offers('session') && button('session')}
          {offers('always') && button('always')}
          {offers('always') && rule && (
            <button type="button" class="ask-button" disabled={isSent} onClick={allowHere}>
              {t('ask.always.rule', { rule: visibleText(rule) })}
            </button>
          )}
          {mayAnswer && (
            <>
              <span class="ask-gap" />
              {button('deny', keys ? 'Escape' : undefined)}
            </>
          )}
        </div>
      )}
      <AnswerNote words={words} />
      {!mayAllow && <p class="ask-covers">{t(mayAnswer ? 'ask.owner' : 'ask.member')}</p>}
      {!isBudget && !isRuling.value && mayAllow && <p class="ask-covers">{covered()}</p>}
    </article>
  )
}

type Unread = {
  /** Leads on in the first change whose end was not on screen; null: all were. */
  first: (() => void) | null
  /** `advance` is null for a change whose end was on screen. */
  report: (at: number, advance: (() => void) | null) => void
}

/** The changes of the card that were not on screen to their end. */
const useUnread = (): Unread => {
  const unread = useSignal<ReadonlyMap<number, () => void>>(new Map())
  const [first] = [...unread.value.keys()].sort((a, b) => a - b)
  const report = useRef<Unread['report']>((at, advance) => {
    const next = new Map(unread.peek())
    if (advance) next.set(at, advance)
    else next.delete(at)
    unread.value = next
  })
  return { first: first === undefined ? null : unread.value.get(first)!, report: report.current }
}

/** Proposed changes by file. */
function AskedDiff({ text, onSeen }: { text: string; onSeen: Unread['report'] }) {
  const files = useMemo(() => parseDiff(text), [text])
  return (
    <div class="ask-diff">
      {files.map((file, at) => (
        <section key={at}>
          {file.path && (
            <p class="ask-file">
              <code dir="ltr">{visibleText(file.path)}</code>
              <DiffCounts added={file.added} removed={file.removed} />
            </p>
          )}
          <Change file={file} at={at} onSeen={onSeen} />
        </section>
      ))}
    </div>
  )
}

function Change({ file, at, onSeen }: { file: FileDiff; at: number; onSeen: Unread['report'] }) {
  const whole = useReadToEnd(file)
  const advance = useRef(whole.advance)
  advance.current = whole.advance
  useEffect(() => {
    onSeen(at, whole.endSeen ? null : () => advance.current())
    return () => onSeen(at, null)
  }, [at, whole.endSeen])
  return (
    <ReadToEndBox whole={whole} more={t('ask.more.change')}>
      <Diff file={file} />
    </ReadToEndBox>
  )
}
