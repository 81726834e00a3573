//! Canonical JSON, trees and signatures against the vectors of RFC 8785, RFC 6962 and RFC 8032.

use kilter_web::hash::{hex, unhex};
use kilter_web::receipt::jcs::{canonical, number};
use kilter_web::receipt::merkle;
use kilter_web::receipt::{PublicKey, Signer};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn numbers_are_written_as_rfc_8785_has_them() {
    let table = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];
    for (bits, text) in table {
        assert_eq!(number(f64::from_bits(bits)), text, "{bits:016x}");
    }
}

#[test]
fn values_are_written_as_rfc_8785_has_them() {
    let input = r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#;
    let value: Value = serde_json::from_str(input).unwrap();
    let text = String::from_utf8(canonical(&value).unwrap()).unwrap();
    assert_eq!(
        text,
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
    );
    let value: Value = serde_json::from_str(
        r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
    )
    .unwrap();
    let text = String::from_utf8(canonical(&value).unwrap()).unwrap();
    let order = [
        "Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew",
    ];
    let places: Vec<_> = order.iter().map(|w| text.find(w).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
    assert!(canonical(&json!(9_007_199_254_740_993_i64)).is_err());
    assert_eq!(canonical(&json!(-0.0)).unwrap(), b"0");
}

#[test]
fn trees_are_those_of_rfc_6962() {
    let data = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ];
    let roots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let leaves: Vec<_> = data
        .iter()
        .map(|d| merkle::leaf(&unhex(d).unwrap()))
        .collect();
    for (n, root) in roots.iter().enumerate() {
        assert_eq!(hex(&merkle::root(&leaves[..=n])), *root, "{n}");
    }
    // A doubled last leaf is another tree; in a tree that doubles its last node it is the same.
    let mut doubled = leaves[..3].to_vec();
    doubled.push(leaves[2]);
    assert_ne!(merkle::root(&doubled), merkle::root(&leaves[..3]));
    assert_eq!(
        kilter_web::receipt::legacy::root(&doubled),
        kilter_web::receipt::legacy::root(&leaves[..3])
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_proof_holds_for_its_leaf_and_no_other(n in 1_usize..70, a in 0_usize..70, b in 0_usize..70) {
        let leaves: Vec<_> = (0..n).map(|i| merkle::leaf(&i.to_be_bytes())).collect();
        let (a, b) = (a % n, b % n);
        let root = merkle::root(&leaves);
        let proof = merkle::prove(&leaves, a).unwrap();
        prop_assert!(merkle::holds(&proof, &leaves[a], &root, n));
        prop_assert_eq!(merkle::holds(&proof, &leaves[b], &root, n), a == b);
        prop_assert!(!merkle::holds(&proof, &leaves[a], &root, n + 1));
        let mut moved = proof.clone();
        moved.leaf_index = b;
        prop_assert_eq!(merkle::holds(&moved, &leaves[a], &root, n), a == b);
        let mut cut = proof.clone();
        if cut.proof.pop().is_some() {
            prop_assert!(!merkle::holds(&cut, &leaves[a], &root, n));
        }
        let mut longer = proof;
        longer.proof.push(hex(&root));
        prop_assert!(!merkle::holds(&longer, &leaves[a], &root, n));
    }

    #[test]
    fn canonical_bytes_read_back_as_the_same_value(f in any::<f64>().prop_filter("finite", |f| f.is_finite()), s in ".*") {
        let value = json!({"f": f, "s": s});
        let text = canonical(&value).unwrap();
        let back: Value = serde_json::from_slice(&text).unwrap();
        prop_assert_eq!(back["f"].as_f64().unwrap(), f);
        prop_assert_eq!(&back["s"], &value["s"]);
        prop_assert_eq!(canonical(&back).unwrap(), text);
    }
}

#[test]
fn signatures_are_those_of_rfc_8032() {
    let seed = unhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
    let key = Signer::from_seed(&seed.try_into().unwrap());
    assert_eq!(
        hex(&key.sign(b"")),
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    );
    // The same key as `openssl pkey` writes it (RFC 8410, section 10.3 has the form).
    assert!(
        key.to_pem()
            .contains("MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g")
    );
    assert_eq!(Signer::from_pem(&key.to_pem()).unwrap().id(), key.id());
    let public = PublicKey::from_pem(&key.public().to_pem()).unwrap();
    assert_eq!(public, key.public());
    assert!(public.id().starts_with("ed1:") && public.id().len() == 20);
    assert!(PublicKey::from_pem(&key.to_pem()).is_err());
    assert!(Signer::from_pem("nothing").is_err());
}
