/** Settings → Security: password, sign-out, devices, API access, where commands run, allowed commands, safeguards. */
import { useLoaded } from '../shell/use-loaded.ts'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { t } from '../settings/strings.ts'
import { AllowedCommands } from './allowed-commands.tsx'
import { confirmed } from '../identity/confirm-password.tsx'
import { Codes } from '../identity/codes.tsx'
import { Devices } from '../identity/devices.tsx'
import { Linked } from '../identity/linked.tsx'
import { Passkeys } from '../identity/passkeys.tsx'
import { Safety } from './safety.tsx'
import { useOutbox, useSettings, useShell } from '../../contexts.ts'
import { LoadingNote } from '../../parts/view-state.tsx'
import { joinSentences } from '../../strings/join-sentences.ts'
import { watchUnsavedChanges } from '../offline/unsaved-changes.ts'
import { visibleName, visibleText } from '../../../lib/base/visible.ts'
import { formatFull } from '../../parts/relative-time.ts'
import type { Api } from '../../../router.ts'

const IgnoredSettings = () => {
  const { api, configProblems } = useShell()
  const known = configProblems.current.value
  const [ignored] = useLoaded(() => api('GET /api/config/problems'), [known])
  // Absent in an answer that an earlier version of the service kept for offline use.
  const all = ignored.value?.ignored ?? []
  if (all.length === 0) return null
  return (
    <Section title={t('settings.ignored')} lead={t('settings.ignored.text')} class="safeguards">
      {all.map(({ key, why }) => (
        <div class="field" key={key}>
          <div class="field-text">
            <code dir="ltr">{visibleName(key)}</code>
            <p class="field-hint">{why ?? t('settings.ignored.unknown')}</p>
          </div>
        </div>
      ))}
    </Section>
  )
}

type Hook = Api['GET /api/hooks']['output']['hooks'][number]

const hintOf = ({ event, matcher, last_run_at, last_failure }: Hook): string =>
  [
    matcher === '' ? event : t('hooks.when', { event, matcher: visibleText(matcher) }),
    last_run_at === null ? t('hooks.never') : t('hooks.last', { time: formatFull(last_run_at) }),
    ...(last_failure === null ? [] : [t('hooks.failure', { why: visibleText(last_failure) })]),
  ].join(' · ')

const countsOf = ({ runs, blocks, failures }: Hook): string =>
  [
    t('hooks.runs', { count: runs }),
    ...(blocks > 0 ? [t('hooks.blocks', { count: blocks })] : []),
    ...(failures > 0 ? [t('hooks.failures', { count: failures })] : []),
  ].join(' · ')

const Hooks = () => {
  const { api } = useShell()
  const [hooks] = useLoaded(() => api('GET /api/hooks'))
  const all = hooks.value?.hooks ?? []
  if (all.length === 0) return null
  return (
    <Section title={t('hooks.title')} lead={t('hooks.text')}>
      {all.map((hook, index) => (
        <Row
          key={index}
          label={
            <code dir="ltr" class="allowed-rule">
              {visibleText(hook.command)}
            </code>
          }
          hint={hintOf(hook)}
          control={ids => <span id={ids.control}>{countsOf(hook)}</span>}
        />
      ))}
    </Section>
  )
}

const ChangedSettings = () => {
  const { attempt, configProblems } = useShell()
  const { changed } = configProblems.current.value
  if (!changed) return null
  const shown = (value: string | null) =>
    value === null ? t('settings.changed.nothing') : visibleName(value)
  const settle = (accept: boolean) =>
    void attempt(() => configProblems.settle(changed.change_id, accept))
  return (
    <Section
      title={t('settings.changed')}
      lead={t('settings.changed.text', { file: changed.file })}
      class="safeguards"
    >
      {changed.changes.map(({ key, accepted, now }) => (
        <div class="field" key={key}>
          <div class="field-text">
            <code dir="ltr">{visibleName(key)}</code>
            <p class="field-hint">
              {t('settings.changed.values', { before: shown(accepted), now: shown(now) })}
            </p>
          </div>
        </div>
      ))}
      <div class="form-actions">
        <Button asks="POST /api/guards/changes" onClick={() => settle(true)}>
          {t('settings.changed.accept')}
        </Button>
        <Button asks="POST /api/guards/changes" kind="primary" onClick={() => settle(false)}>
          {t('settings.changed.restore')}
        </Button>
      </div>
    </Section>
  )
}

const PermissionRules = lazy(async () => (await import('./permission-rules.tsx')).PermissionRules)

const CommandPlace = lazy(async () => (await import('./command-place.tsx')).CommandPlace)

const ApiAccess = lazy(async () => (await import('./api-access.tsx')).ApiAccess)

const Activity = lazy(async () => (await import('../identity/activity.tsx')).Activity)

const ShareSettings = lazy(async () => (await import('../shares/share-settings.tsx')).ShareSettings)

const MIN_PASSWORD_LENGTH = 8

const PasswordForm = ({ change }: { change: boolean }) => {
  const shell = useShell()
  const { attempt, toasts } = shell
  const settings = useSettings()
  const first = useSignal('')
  const second = useSignal('')
  const error = useSignal('')
  const submit = async () => {
    error.value = ''
    if (first.value.trim().length < MIN_PASSWORD_LENGTH) error.value = t('settings.password.short')
    else if (first.value !== second.value) error.value = t('settings.password.differ')
    else
      await attempt(async () => {
        const done = await confirmed(shell, async current => {
          await settings.setPassword(first.value, current)
          return true
        })
        if (!done) return
        first.value = ''
        second.value = ''
        toasts.show(t('settings.password.done'))
      })
  }

  return (
    <Form
      submit={t(change ? 'settings.password.change' : 'settings.password.set')}
      isIncomplete={first.value === ''}
      onSubmit={submit}
    >
      <TextField
        label={t('settings.password.new')}
        error={error.value}
        type="password"
        autocomplete="new-password"
        text={first}
      />
      <TextField
        label={t('settings.password.again')}
        type="password"
        autocomplete="new-password"
        text={second}
      />
    </Form>
  )
}

/** Signs out after a question where that deletes something: messages that wait, changes in any tab of this browser. */
const useSignOut = (): (() => void) => {
  const { base, layout, attempt, auth, platform, accountTabs, signedOut } = useShell()
  const outbox = useOutbox()
  const unsaved = useRef<ReturnType<typeof watchUnsavedChanges> | null>(null)
  useEffect(() => {
    const watch = watchUnsavedChanges(base)
    unsaved.current = watch
    return watch.close
  }, [base])

  const forget = async () => {
    platform.drafts.clear()
    accountTabs.value?.postMessage('')
    // The person was asked.
    signedOut.value = true
    outbox.clear()
  }
  const signOut = () => attempt(() => auth.signOut(forget))
  return () => {
    const count = outbox.list.value.filter(({ state }) => state !== 'accepted').length
    const isUnsaved = unsaved.current?.hasAny() === true
    if (count === 0 && !isUnsaved) return void signOut()
    layout.confirmation.value = {
      title: t(isUnsaved ? 'settings.signout.unsaved.title' : 'settings.signout.unsent.title'),
      text: joinSentences(
        count > 0 && t('settings.signout.unsent.text', { count }),
        isUnsaved && t('settings.signout.unsaved.text'),
      ),
      confirm: t('settings.signout'),
      danger: true,
      run: signOut,
    }
  }
}

export const Security = () => {
  const settings = useSettings()
  const shell = useShell()
  const { layout, toasts } = shell
  const askSignOut = useSignOut()
  const password = settings.password.value
  if (password === null) return <LoadingNote />
  const isOwner = settings.isOwner.value
  // Others than the first owner have a password of their own.
  const isFirst = (settings.person.value?.id ?? '') === ''

  const askDisable = () => {
    layout.confirmation.value = {
      title: t('settings.password.disable.title'),
      text: t('settings.password.disable.text'),
      confirm: t('settings.password.disable'),
      danger: true,
      async run() {
        const done = await confirmed(shell, async current => {
          await settings.clearPassword(current)
          return true
        })
        if (!done) return
        toasts.show(t('settings.password.disabled'))
      },
    }
  }

  return (
    <>
      {isFirst && <p class="view-lead">{t(`settings.password.${password}`)}</p>}
      {(password !== 'environment' || !isFirst) && (
        <PasswordForm change={password === 'stored' || !isFirst} />
      )}
      {password !== 'none' && (
        <div class="rows">
          {password === 'stored' && isFirst && (
            <Row
              label={t('settings.password.disable')}
              hint={t('settings.password.disable.hint')}
              control={ids => (
                <Button id={ids.control} kind="danger" onClick={askDisable}>
                  {t('settings.password.disable')}
                </Button>
              )}
            />
          )}
          <Row
            label={t('settings.signout')}
            hint={t('settings.signout.hint')}
            control={ids => (
              <Button id={ids.control} icon="logout" onClick={askSignOut}>
                {t('settings.signout')}
              </Button>
            )}
          />
        </div>
      )}
      {password !== 'none' && password !== 'missing' && (
        <>
          <Devices />
          <Passkeys />
          <Linked />
          {isFirst && <Codes />}
        </>
      )}
      {isOwner && (
        <>
          <ApiAccess />
          <ShareSettings />
          <CommandPlace />
          <PermissionRules />
          <AllowedCommands />
          <ChangedSettings />
          <Safety />
          <IgnoredSettings />
          <Hooks />
          {password !== 'none' && <Activity />}
        </>
      )}
    </>
  )
}
