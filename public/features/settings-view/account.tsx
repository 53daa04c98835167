/** Settings → Access: password, sign-out, devices, and the ways to sign in. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Row } from '../../parts/field.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { t } from '../settings/strings.ts'
import { confirmed } from '../identity/confirm-password.tsx'
import { Codes } from '../identity/codes.tsx'
import { Devices } from '../identity/devices.tsx'
import { Linked } from '../identity/linked.tsx'
import { Passkeys } from '../identity/passkeys.tsx'
import { useOutbox, useSettings, useShell } from '../../contexts.ts'
import { LoadingNote } from '../../parts/view-state.tsx'
import { joinSentences } from '../../strings/join-sentences.ts'
import { watchUnsavedChanges } from '../offline/unsaved-changes.ts'

const MIN_PASSWORD_LENGTH = 8

const PasswordForm = ({ label, onDone }: { label: string; onDone: () => void }) => {
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
        const result = await confirmed(shell, async current => {
          await settings.setPassword(first.value, current)
          return true
        })
        if (!result) return
        onDone()
        toasts.show(t('settings.password.done'))
      })
  }

  return (
    <Form submit={label} onCancel={onDone} isIncomplete={first.value === ''} onSubmit={submit}>
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

type PasswordRowProps = {
  hint: string
  change: boolean
  /** It comes from the environment of the server. */
  isFixed: boolean
  /** Others can reach the page, so this is what is to be done first. */
  isMissing: boolean
}

const PasswordRow = ({ hint, change, isFixed, isMissing }: PasswordRowProps) => {
  const isOpen = useSignal(isMissing)
  const label = t(change ? 'settings.password.change' : 'settings.password.set')
  return (
    <>
      <Row
        group
        label={t('settings.password')}
        hint={hint}
        control={() =>
          !isFixed &&
          !isOpen.value && (
            <Button
              onClick={() => {
                isOpen.value = true
              }}
            >
              {label}
            </Button>
          )
        }
      />
      {isOpen.value && (
        <PasswordForm
          label={label}
          onDone={() => {
            isOpen.value = false
          }}
        />
      )}
    </>
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

export const Account = () => {
  const settings = useSettings()
  const shell = useShell()
  const { layout, toasts } = shell
  const askSignOut = useSignOut()
  const password = settings.password.value
  if (password === null) return <LoadingNote />
  // Others than the first owner have a password of their own.
  const isFirst = (settings.person.value?.id ?? '') === ''

  const askDisable = () => {
    layout.confirmation.value = {
      title: t('settings.password.disable.title'),
      text: t('settings.password.disable.text'),
      confirm: t('settings.password.disable'),
      danger: true,
      async run() {
        const result = await confirmed(shell, async current => {
          await settings.clearPassword(current)
          return true
        })
        if (!result) return
        toasts.show(t('settings.password.disabled'))
      },
    }
  }

  return (
    <>
      <div class="rows">
        <PasswordRow
          hint={isFirst ? t(`settings.password.${password}`) : ''}
          change={password === 'stored' || !isFirst}
          isFixed={password === 'environment' && isFirst}
          isMissing={password === 'missing'}
        />
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
        {password !== 'none' && (
          <Row
            label={t('settings.signout')}
            hint={t('settings.signout.hint')}
            control={ids => (
              <Button id={ids.control} icon="logout" onClick={askSignOut}>
                {t('settings.signout')}
              </Button>
            )}
          />
        )}
      </div>
      {password !== 'none' && password !== 'missing' && (
        <>
          <Devices />
          <Passkeys />
          <Linked />
          {isFirst && <Codes />}
        </>
      )}
    </>
  )
}
