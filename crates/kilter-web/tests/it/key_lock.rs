//! Keys at rest: locked with a passphrase where there is one, and readable by other programs that have it.

use std::path::Path;

use kilter_web::receipt::key::is_locked;
use kilter_web::receipt::store::PASSPHRASE;
use kilter_web::receipt::{KeyStore, Signer, StoreError};

fn secret_file(state: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(state.join("keys")).unwrap();
    let mut secrets: Vec<_> = files
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| x == "pem"))
        .collect();
    assert_eq!(secrets.len(), 1, "{secrets:?}");
    secrets.remove(0)
}

#[test]
fn a_locked_key_opens_with_its_passphrase_alone() {
    let state = tempfile::tempdir().unwrap();
    let plain = KeyStore::open(state.path(), true);
    let locked = plain.clone().locked("harbour crane 1911");
    let key = KeyStore::open(state.path(), true)
        .locked("harbour crane 1911")
        .signer()
        .unwrap();
    let file = secret_file(state.path());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(is_locked(&text) && !text.contains("BEGIN PRIVATE KEY"));
    assert_eq!(locked.signer().unwrap().id(), key.id());
    // Without it, and with another: a word of its own, no new key.
    let fresh = || KeyStore::open(state.path(), true);
    assert!(matches!(fresh().signer(), Err(StoreError::Locked { .. })));
    assert!(matches!(
        fresh().locked("harbour crane 1912").signer(),
        Err(StoreError::WrongPassphrase { .. })
    ));
    let said = fresh().signer().unwrap_err().to_string();
    assert!(
        said.contains(PASSPHRASE) && said.contains("hint:"),
        "{said}"
    );
    assert_eq!(
        fresh().public_keys().unwrap().len(),
        1,
        "public halves are not locked"
    );
    assert!(!format!("{locked:?}").contains("1911"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // A new key is made even where nobody knows the passphrase any more; the old receipts still verify.
    let rotated = fresh().locked("another").rotate().unwrap();
    assert_ne!(rotated.id(), key.id());
    assert_eq!(fresh().public_keys().unwrap().len(), 2);
    assert_eq!(
        fresh().locked("another").signer().unwrap().id(),
        rotated.id()
    );
    // Another key under its name is not taken for it.
    let other = Signer::from_seed(&[3; 32])
        .to_locked_pem("another")
        .unwrap();
    std::fs::write(secret_file(state.path()), other).unwrap();
    assert!(matches!(
        fresh().locked("another").signer(),
        Err(StoreError::Changed { .. })
    ));
}

#[test]
fn a_key_that_lay_open_is_locked_when_it_is_used_next() {
    let state = tempfile::tempdir().unwrap();
    let key = KeyStore::open(state.path(), true).signer().unwrap();
    let file = secret_file(state.path());
    assert!(!is_locked(&std::fs::read_to_string(&file).unwrap()));
    let words = state.path().join("words");
    std::fs::write(&words, "from a file\n").unwrap();
    let get =
        |name: &str| (name == format!("{PASSPHRASE}_FILE")).then(|| words.display().to_string());
    let by_file = KeyStore::open(state.path(), true).locked_by(get);
    assert_eq!(by_file.signer().unwrap().id(), key.id());
    assert!(is_locked(&std::fs::read_to_string(&file).unwrap()));
    let by_word = |name: &str| (name == PASSPHRASE).then(|| "from a file".to_owned());
    let again = KeyStore::open(state.path(), true).locked_by(by_word);
    assert_eq!(again.signer().unwrap().id(), key.id());
    let missing = |name: &str| name.ends_with("_FILE").then(|| "/nowhere/words".to_owned());
    let unread = KeyStore::open(state.path(), true).locked_by(missing);
    assert!(matches!(unread.signer(), Err(StoreError::Io { .. })));
    // No variable, no lock.
    let open = KeyStore::open(state.path(), true).locked_by(|_| None);
    assert!(matches!(open.signer(), Err(StoreError::Locked { .. })));
}

#[test]
fn receipts_off_mints_no_key() {
    let state = tempfile::tempdir().unwrap();
    let off = KeyStore::open(state.path(), false).locked("x");
    assert!(matches!(off.signer(), Err(StoreError::Off)));
    assert!(matches!(off.rotate(), Err(StoreError::Off)));
    assert!(!state.path().join("keys").exists());
}

#[test]
fn the_lock_is_the_common_one() {
    let key = Signer::from_seed(&[7; 32]);
    // Made with `openssl pkcs8 -topk8 -v2 aes-256-cbc -iter 1000 -passout pass:opensesame` from `key.to_pem()`.
    let theirs = include_str!("data/locked.pem");
    let got = Signer::from_locked_pem(theirs, "opensesame").unwrap();
    assert_eq!(got.id(), key.id());
    assert!(Signer::from_locked_pem(theirs, "opensesam").is_err());
    let ours = key.to_locked_pem("opensesame").unwrap();
    assert_ne!(
        ours,
        key.to_locked_pem("opensesame").unwrap(),
        "a new salt each time"
    );
    for at in (28..ours.len() - 30).step_by(17) {
        let mut changed = ours.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        let got = Signer::from_locked_pem(&changed, "opensesame");
        assert!(got.is_err() || got.unwrap().id() != key.id(), "byte {at}");
    }
}
