//! Prices and money. A world without money answers with zeros.

messages! {
    /// Asks for [`EconomyData`]. No body.
    EconomyDataRequest: Low 24, plain, from Client {}

    /// Prices. node-metaverse asks before every upload.
    EconomyData: Low 25, zero_coded, from Server {
        info: one EconomyDataInfo {
            object_capacity: i32, object_count: i32, price_energy_unit: i32, price_object_claim: i32,
            price_public_object_decay: i32, price_public_object_delete: i32, price_parcel_claim: i32,
            price_parcel_claim_factor: f32, price_upload: i32, price_rent_light: i32, teleport_min_price: i32,
            teleport_price_exponent: f32, energy_efficiency: f32, price_object_rent: f32,
            price_object_scale_factor: f32, price_parcel_rent: i32, price_group_create: i32,
        }
    }

    /// Asks for the user's balance.
    MoneyBalanceRequest: Low 313, zero_coded, from Client {
        agent_data: one MoneyBalanceRequestAgentData { agent_id: Uuid, session_id: Uuid }
        money_data: one MoneyBalanceRequestMoneyData { transaction_id: Uuid }
    }

    /// The user's balance, and the transaction that changed it, if any.
    MoneyBalanceReply: Low 314, zero_coded, from Server {
        money_data: one MoneyBalanceReplyMoneyData {
            agent_id: Uuid, transaction_id: Uuid, transaction_success: bool, money_balance: i32,
            square_meters_credit: i32, square_meters_committed: i32, description: Variable1,
        }
        transaction_info: one MoneyBalanceReplyTransactionInfo {
            transaction_type: i32, source_id: Uuid, is_source_group: bool, dest_id: Uuid, is_dest_group: bool,
            amount: i32, item_description: Variable1,
        }
    }

    /// Pays a user or an object.
    MoneyTransferRequest: Low 311, zero_coded, from Client {
        agent_data: one MoneyTransferRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        money_data: one MoneyTransferRequestMoneyData {
            source_id: Uuid, dest_id: Uuid, flags: u8, amount: i32, aggregate_perm_next_owner: u8,
            aggregate_perm_inventory: u8, transaction_type: i32, description: Variable1,
        }
    }

    /// Asks for the prices of an object.
    RequestPayPrice: Low 161, plain, from Client {
        object_data: one RequestPayPriceObjectData {
            object_id: Uuid,
        }
    }

    /// Prices that a viewer offers.
    PayPriceReply: Low 162, plain, from Server {
        object_data: one PayPriceReplyObjectData {
            object_id: Uuid, default_pay_price: i32,
        }
        button_data: many PayPriceReplyButtonData {
            pay_button: i32,
        }
    }
}
